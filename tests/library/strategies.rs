//! Table of behaviours and scenarios, each with the test that shows it.
//!
//! A row is an area, the tested behaviour or the number of a scenario, a file and a test in it. The test below fails when a row names a
//! missing test.

/// Area, behaviour, file, test.
type Row = (&'static str, &'static str, &'static str, &'static str);

const ROWS: &[Row] = &[
    // The JSON output mode: parsing.
    ("json mode", "JSON in a code block", "core/src/reply/tests/cases.rs", "every_case_of_the_tables_holds"),
    ("json mode", "a bare object", "tests/library/json_mode.rs", "common_quirks_are_understood"),
    ("json mode", "text behind the JSON", "tests/library/json_mode.rs", "common_quirks_are_understood"),
    ("json mode", "no JSON at all", "tests/engine/correction.rs", "three_attempts_are_distinguished_by_their_errors"),
    // Schemas.
    (
        "json mode",
        "simple signature to schema",
        "tests/library/json_mode.rs",
        "the_schema_is_the_output_of_the_signature",
    ),
    ("json mode", "nested signature to schema", "tests/library/json_mode.rs", "nested_outputs_become_nested_schemas"),
    ("json mode", "lists to schema", "core/src/signature/tests/schema.rs", "answer_schemas"),
    ("json mode", "enums to schema", "core/src/signature/tests/schema.rs", "answer_schemas"),
    (
        "json mode",
        "output of a full signature",
        "tests/library/json_mode.rs",
        "the_schema_is_the_output_of_the_signature",
    ),
    ("json mode", "output alone", "tests/library/json_mode.rs", "the_schema_is_the_output_of_the_signature"),
    // Signatures and modes.
    (
        "json mode",
        "a full signature is accepted",
        "core/src/signature/tests/parse.rs",
        "accepted_texts_render_canonically",
    ),
    (
        "json mode",
        "an output alone is accepted",
        "core/src/signature/tests/parse.rs",
        "accepted_texts_render_canonically",
    ),
    (
        "json mode",
        "hidden fields are refused",
        "tests/library/json_mode.rs",
        "json_mode_refuses_tools_missing_signatures_hidden_fields_and_short_histories",
    ),
    (
        "json mode",
        "tools are refused",
        "tests/library/json_mode.rs",
        "json_mode_refuses_tools_missing_signatures_hidden_fields_and_short_histories",
    ),
    (
        "json mode",
        "a missing signature is refused",
        "tests/library/json_mode.rs",
        "json_mode_refuses_tools_missing_signatures_hidden_fields_and_short_histories",
    ),
    (
        "json mode",
        "compression is refused",
        "tests/library/json_mode.rs",
        "json_mode_refuses_tools_missing_signatures_hidden_fields_and_short_histories",
    ),
    // Runs and pipelines.
    ("json mode", "parsed data comes back", "tests/engine/correction.rs", "json_mode_returns_parsed_data"),
    (
        "json mode",
        "a wrong answer is asked for again",
        "tests/engine/correction.rs",
        "json_mode_retries_on_validation_error",
    ),
    ("json mode", "JSON feeds a program", "tests/engine/piping.rs", "json_feeds_ptc_lisp_with_aligned_types"),
    ("json mode", "a program feeds JSON", "tests/engine/piping.rs", "ptc_lisp_feeds_json"),
    ("json mode", "JSON feeds JSON", "tests/engine/context.rs", "json_feeds_json_through_a_step"),
    ("json mode", "sentiment end to end", "tests/library/json_mode.rs", "a_classification_as_a_program_and_as_json"),
    // The plan for output modes, first stage.
    (
        "output modes",
        "reading JSON: fences, bare, edges",
        "core/src/reply/tests/cases.rs",
        "every_case_of_the_tables_holds",
    ),
    ("output modes", "schemas of all types", "core/src/signature/tests/schema.rs", "answer_schemas"),
    (
        "output modes",
        "JSON with tools is refused",
        "tests/agent/file.rs",
        "an_agent_with_tools_refuses_json_mode_unless_a_section_removes_them",
    ),
    (
        "output modes",
        "JSON without signature is refused",
        "tests/agent/plan.rs",
        "json_mode_says_what_it_refuses_and_what_to_do",
    ),
    (
        "output modes",
        "JSON with hidden fields is refused",
        "tests/agent/plan.rs",
        "json_mode_says_what_it_refuses_and_what_to_do",
    ),
    ("output modes", "a valid reply succeeds", "tests/engine/correction.rs", "json_mode_returns_parsed_data"),
    (
        "output modes",
        "broken JSON, then a good reply",
        "tests/engine/correction.rs",
        "three_attempts_are_distinguished_by_their_errors",
    ),
    (
        "output modes",
        "an answer that does not fit, then again",
        "tests/engine/correction.rs",
        "json_mode_retries_on_validation_error",
    ),
    ("output modes", "JSON feeds a program", "tests/library/modes.rs", "json_feeds_a_program"),
    ("output modes", "a program feeds JSON", "tests/library/json_mode.rs", "steps_travel_between_json_and_programs"),
    ("output modes", "sentiment end to end", "tests/library/json_mode.rs", "a_classification_as_a_program_and_as_json"),
    ("output modes", "extraction end to end", "tests/library/json_mode.rs", "steps_travel_between_json_and_programs"),
    // Second stage.
    ("output modes", "text comes back as it was", "tests/library/modes.rs", "plain_text_is_returned_as_it_came"),
    ("output modes", "text and signatures", "tests/engine/text.rs", "the_variant_follows_tools_and_return_type"),
    ("output modes", "text feeds a program", "tests/library/modes.rs", "text_feeds_a_program"),
    // What else its text promises.
    ("output modes", "predicates of modes", "tests/library/modes.rs", "modes_of_programs_and_of_data"),
    (
        "output modes",
        "mode and schema reach the callback",
        "tests/library/modes.rs",
        "each_mode_asks_for_its_own_kind_of_reply",
    ),
    (
        "output modes",
        "a callback that ignores both",
        "tests/library/modes.rs",
        "a_closure_may_look_at_as_little_as_it_likes",
    ),
    (
        "output modes",
        "a schema as a forced tool",
        "tests/openai/structure.rs",
        "the_arguments_of_a_forced_tool_are_the_reply",
    ),
    ("output modes", "every mode feeds every mode", "tests/library/modes.rs", "every_mode_feeds_every_mode"),
    (
        "output modes",
        "a question suspends, an answer resumes",
        "tests/library/modes.rs",
        "a_question_suspends_the_run_and_the_answer_resumes_it",
    ),
    ("output modes", "memory does not travel", "tests/library/modes.rs", "memory_is_not_carried_between_agents"),
    // The guide to the text mode: no list of tests, but promises.
    ("text mode", "plain text", "tests/library/text_mode.rs", "plain_text"),
    ("text mode", "JSON", "tests/library/text_mode.rs", "a_complex_return_type_makes_it_json"),
    ("text mode", "tools and text", "tests/library/text_mode.rs", "tools_and_a_free_answer"),
    ("text mode", "tools and JSON", "tests/library/text_mode.rs", "tools_and_a_typed_answer"),
    ("text mode", "variants", "tests/library/text_mode.rs", "variants_follow_tools_and_return_type"),
    ("text mode", "templates", "tests/library/text_mode.rs", "templates_are_filled_from_the_context"),
    ("text mode", "checks of templates", "tests/library/text_mode.rs", "templates_are_checked_against_the_signature"),
    ("text mode", "several tools", "tests/library/text_mode.rs", "several_tools_over_several_turns"),
    ("text mode", "schemas of tools", "tests/library/text_mode.rs", "tool_signatures_become_schemas"),
    (
        "text mode",
        "limits and failing tools",
        "tests/library/text_mode.rs",
        "turns_calls_and_failing_tools_are_limits_and_news_for_the_model",
    ),
    ("text mode", "piping", "tests/library/text_mode.rs", "text_feeds_other_modes"),
    // Delegation tasks: refs.
    ("core", "values by path", "src/program/path.rs", "paths_lead_through_maps_and_lists"),
    (
        "core",
        "values by function",
        "src/engine/modes/refs.rs",
        "an_expression_sees_the_result_and_a_broken_one_is_an_error",
    ),
    ("core", "nil where a path leads nowhere", "src/program/path.rs", "paths_lead_through_maps_and_lists"),
    ("core", "required refs", "tests/library/core.rs", "missing_refs_are_asked_for_again"),
    // The loop.
    ("core", "done in one turn", "tests/engine/ptc.rs", "scenarios"),
    ("core", "several turns with tools", "tests/library/core.rs", "a_task_is_delegated"),
    ("core", "errors go back", "tests/library/core.rs", "an_error_goes_back_and_the_next_program_recovers"),
    ("core", "used-up turns end the loop", "tests/library/core.rs", "failures_keep_the_names_of_the_document"),
    ("core", "calls in the trace", "tests/library/core.rs", "a_task_is_delegated"),
    ("core", "memory from turn to turn", "tests/library/core.rs", "context_last_result_and_memory_by_their_old_names"),
    // Tasks.
    ("core", "delegate with a scripted model", "tests/library/core.rs", "a_task_is_delegated"),
    ("core", "an agent as a tool", "tests/library/core.rs", "an_agent_is_a_tool_of_another"),
    ("core", "an agent as a tool, in a file", "tests/library/core.rs", "an_agent_file_may_declare_such_a_tool"),
    ("core", "refs after the end", "tests/library/core.rs", "refs_are_passed_to_the_next_task"),
    ("core", "refs asked for again", "tests/library/core.rs", "missing_refs_are_asked_for_again"),
    ("core", "agents in agents", "tests/library/core.rs", "an_agent_is_a_tool_of_another"),
    // End to end.
    ("core", "a task end to end", "tests/library/core.rs", "a_task_is_delegated"),
    ("core", "tasks pass refs on", "tests/library/core.rs", "refs_are_passed_to_the_next_task"),
    ("core", "a plan by a create_plan tool", "tests/library/core.rs", "a_plan_is_made_by_a_create_plan_tool"),
    // The JSON loop: its steps and risks.
    ("json loop", "the object and its rules", "core/src/reply/control/tests.rs", "exactly_one_action_is_set"),
    ("json loop", "a call, its result, the answer", "tests/library/json_loop.rs", "a_call_its_result_and_the_answer"),
    (
        "json loop",
        "broken JSON is corrected",
        "tests/library/json_loop.rs",
        "a_broken_object_is_corrected_by_the_model",
    ),
    (
        "json loop",
        "call and answer exclude each other",
        "tests/library/json_loop.rs",
        "call_and_answer_exclude_each_other",
    ),
    ("json loop", "tools in the prompt or native", "tests/library/json_loop.rs", "tools_may_travel_as_native_schemas"),
    (
        "json loop",
        "the thought while the object arrives",
        "core/src/reply/control/tests.rs",
        "a_growing_object_shows_its_parts_as_they_come",
    ),
    ("json loop", "no endless loop", "tests/engine/json_loop.rs", "five_identical_calls_in_a_row_are_a_loop"),
    // Agents: scripted scenarios by number, and the rules without a scenario.
    ("agents", "1–5, 7–13", "tests/engine/ptc.rs", "scenarios"),
    ("agents", "6", "tests/engine/ptc.rs", "a_model_error_ends_the_run"),
    ("agents", "14", "tests/engine/ptc.rs", "scenario_14_tools_errors_prose_and_a_bad_return"),
    ("agents", "15", "tests/engine/ptc.rs", "scenario_15_a_plan_is_ticked"),
    ("agents", "16, 17, 19–22", "tests/engine/text.rs", "scenarios_without_tools"),
    ("agents", "18", "tests/engine/text.rs", "scenario_18_all_problems_of_an_answer_are_joined"),
    ("agents", "23", "tests/engine/text.rs", "scenario_23_several_calls_are_answered_in_order_failures_included"),
    ("agents", "24", "tests/engine/text.rs", "scenario_24_calls_beyond_the_limit_are_refused_and_reported"),
    ("agents", "25", "tests/engine/text.rs", "scenario_25_tools_then_a_typed_answer_with_correction"),
    ("agents", "26", "tests/engine/text.rs", "scenario_26_calls_without_end_use_up_the_turns"),
    ("agents", "27", "tests/engine/text.rs", "scenario_27_empty_replies_get_feedback_and_end_as_such"),
    ("agents", "28", "tests/engine/ptc.rs", "scenario_28_an_agent_below"),
    ("agents", "29", "tests/library/offers.rs", "a_chain_breaks_before_a_request_is_made"),
    ("agents", "30", "tests/library/offers.rs", "models_are_found_by_name"),
    ("agents", "each reason", "tests/library/reasons.rs", "each_reason_of_the_contract_has_a_scenario"),
    (
        "agents",
        "a partial result of a used-up budget",
        "tests/engine/budget.rs",
        "return_partial_gives_the_latest_value_that_fits_and_says_its_turn",
    ),
    (
        "agents",
        "budgets before programs",
        "tests/engine/budget.rs",
        "a_budget_that_a_reply_exceeds_ends_the_run_before_its_program",
    ),
    ("agents", "the journal goes on", "tests/library/offers.rs", "a_conversation_keeps_its_journal"),
    (
        "agents",
        "statistics of compaction",
        "tests/engine/compaction.rs",
        "trimming_shows_why_and_how_much_was_left_out",
    ),
    (
        "agents",
        "statistics of compression",
        "tests/engine/compaction.rs",
        "coalescing_counts_calls_prints_and_failed_turns",
    ),
    (
        "agents",
        "the firewall of agents below",
        "tests/engine/firewall.rs",
        "a_parent_works_with_what_its_model_does_not_see",
    ),
    (
        "agents",
        "mission time while a tool runs",
        "tests/engine/stop.rs",
        "a_mission_that_is_over_while_a_tool_runs_ends_the_tool_and_the_run",
    ),
    (
        "agents",
        "branches that wait for the user",
        "tests/engine/waiting.rs",
        "branches_may_wait_for_a_user_longer_than_pmap_timeout",
    ),
    ("agents", "results of native programs", "tests/engine/native.rs", "a_result_says_value_prints_and_definitions"),
    (
        "agents",
        "templates of answers",
        "tests/engine/questions.rs",
        "the_model_answers_by_one_signature_and_the_tool_by_another",
    ),
    ("agents", "retry per agent", "tests/library/offers.rs", "an_agent_says_how_often_its_model_is_tried"),
];

#[test]
fn every_listed_test_is_there() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let missing: Vec<String> = ROWS
        .iter()
        .filter(|(.., file, test)| {
            let text = std::fs::read_to_string(root.join(file)).unwrap_or_default();
            !text.contains(&format!("fn {test}("))
        })
        .map(|(document, what, file, test)| format!("{document}: {what}: {file} has no test {test}"))
        .collect();
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}
