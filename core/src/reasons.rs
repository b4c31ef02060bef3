//! The table of error reasons: the stable name of every reason, its meaning, and what a user can do about it.
//!
//! Names never change once released; messages may.

/// One row of the reason table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReasonRow {
    /// The reason itself.
    pub reason: Reason,
    /// Its stable name, as in files and `--json` output.
    pub name: &'static str,
    /// Its meaning, one sentence.
    pub meaning: &'static str,
    /// The next step for the user, one sentence.
    pub next: &'static str,
}

macro_rules! reasons {
    ($($variant:ident $name:literal $meaning:literal $next:literal;)*) => {
        /// A stable error reason.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Reason {
            $(#[doc = $meaning] $variant,)*
        }

        /// Every reason, in the order of the documentation.
        pub const REASONS: &[ReasonRow] = &[
            $(ReasonRow { reason: Reason::$variant, name: $name, meaning: $meaning, next: $next },)*
        ];
    };
}

reasons! {
    JsonParseError "json_parse_error" "The reply contains no JSON, malformed JSON, or JSON of the wrong shape." "Check the raw reply; raise max_turns or use a recovery level that repairs more.";
    ValidationError "validation_error" "The answer does not fit the signature." "Check the validation errors; describe the field in the prompt or in field_descriptions, or raise max_turns.";
    ReplyTruncated "reply_truncated" "The model stopped because its output limit was reached." "Raise max_tokens in model_options, or ask for a shorter answer.";
    ContentFiltered "content_filtered" "The provider's filter withheld the reply." "Change the prompt or use another model.";
    Refused "refused" "The model refused to answer." "Change the prompt or use another model.";
    MaxTurnsExceeded "max_turns_exceeded" "All turns ended without a valid answer." "Raise max_turns, or make the prompt clearer.";
    MissionTimeout "mission_timeout" "The run exceeded its time limit." "Raise mission_timeout_ms.";
    TokenLimitExceeded "budget_callback_exceeded" "The token limit of the run was exceeded." "Raise token_limit.";
    LlmError "llm_error" "The model could not be reached or answered with an error." "The message has the service's error text and a hint.";
    LlmRequired "llm_required" "No model was named." "Name one with `model` in the agent file, `default_model` in the configuration, or --model.";
    LlmNotFound "llm_not_found" "The named model or recording does not exist." "`ptc-workbench models` lists what can be used; the model `sample` answers any signature.";
    TemplateError "template_error" "The prompt template is invalid or cannot be rendered." "Correct the template at the shown position.";
    SignatureError "signature_error" "The signature is invalid." "Correct the signature at the shown position.";
    InvalidAgent "invalid_agent" "The agent's definition is invalid." "Correct the named key.";
    InvalidContext "invalid_context" "The context is not a JSON object, or does not fit the parameters." "Correct the context, then run again.";
    ChainedFailure "chained_failure" "The step passed as context had failed." "Run the earlier step again.";
    ChainError "chain_error" "The earlier step does not return what the next agent needs." "Give the earlier agent an output field of each missing name, or make the parameters optional.";
    Failed "failed" "The program called fail." "The message comes from the program; check the turn that called it.";
    ReturnValidationFailed "return_validation_failed" "The program returned a value that does not fit the signature." "Check the validation errors; give retry_turns, or describe the field.";
    NoCodeFound "no_code_found" "The reply contains no program." "Give more turns, or use a model that writes a fenced program.";
    MustReturnMissing "must_return_missing" "The last turn ended without return or fail." "Raise max_turns or retry_turns, or use completion = \"return_required\".";
    BudgetExhausted "budget_exhausted" "All work turns and retry turns ended without a valid answer." "Raise max_turns or retry_turns, or make the prompt clearer.";
    TurnBudgetExhausted "turn_budget_exhausted" "The turn budget of the agent and its child agents is exhausted." "Raise turn_budget.";
    MaxDepthExceeded "max_depth_exceeded" "The nesting of agents exceeds the limit." "Raise max_depth, or let fewer agents call each other.";
    MemoryLimitExceeded "memory_limit_exceeded" "The stored definitions are too large." "Raise memory_bytes, store less, or use memory_strategy = \"rollback\".";
    CostExceeded "cost_exceeded" "The run exceeded its cost limit." "Raise cost_limit.";
    EmptyResponse "empty_response" "The reply was empty: neither text nor tool calls from a model that has tools, or only tool calls for an agent without tools." "Try again, or use another model.";
    ArgsError "args_error" "The arguments of a native tool call are invalid." "The message names the expected arguments.";
    MultipleToolCalls "multiple_tool_calls" "More than one program was sent in one reply." "Send one lisp_eval call in a reply.";
    MixedWithLispEval "mixed_with_lisp_eval" "A program and other tool calls were sent in one reply." "Send lisp_eval alone.";
    MissingRefs "missing_refs" "The answer lacks values that refs require." "Check the paths in refs, mark them optional, or raise max_ref_retries.";
    ProtocolError "protocol_error" "The model did not reply with valid control objects." "Raise max_protocol_failures, use a more lenient recovery level, or another model.";
    LoopDetected "loop_detected" "The model repeats itself." "Make the prompt clearer, or use another model.";
    LlmRegistryRequired "llm_registry_required" "A model was named without a list of models." "Pass the models by name, or a model.";
    Cancelled "cancelled" "The run was stopped by the user." "Run again.";
    Suspended "suspended" "The run is waiting for the user." "Answer in the interface.";
    SessionUnreadable "session_unreadable" "The session cannot be read." "The message names the part that could be read; `ptc-workbench sessions list` lists the others.";
    WriteFailed "write_failed" "A file could not be written." "Choose another path.";
    InternalError "internal_error" "ptc-workbench hit an internal error." "Start it with --log FILE, repeat the steps, and report the contents of the file.";
    ParseError "parse_error" "The program has a syntax error." "Correct the text at the shown position.";
    InvalidForm "invalid_form" "A form has an invalid shape." "The message shows the correct shape.";
    InvalidArity "invalid_arity" "A form has too few or too many parts." "The message shows the correct shape.";
    InvalidCondForm "invalid_cond_form" "`cond` needs pairs of test and value." "Add the missing value, or `:else`.";
    InvalidThreadForm "invalid_thread_form" "A threading form has an invalid shape." "The message shows the correct shape.";
    UnsupportedPattern "unsupported_pattern" "This destructuring pattern is not supported." "Use symbols, vectors, or maps with :keys, :strs, :or and :as.";
    InvalidPlaceholder "invalid_placeholder" "`%` is outside of `#(…)`." "Write `(fn [x] …)` or `#(… % …)`.";
    DuplicateKey "duplicate_key" "A literal contains the same key or element twice." "Remove one of them.";
    UnboundVar "unbound_var" "The program uses an undefined name." "The message suggests the nearest known name.";
    UnknownTool "unknown_tool" "The program calls a tool that the agent does not have." "The message lists the agent's tools.";
    SymbolLimitExceeded "symbol_limit_exceeded" "The program uses too many distinct names." "Use data with string keys instead of many keywords.";
    ProgramTooLarge "program_too_large" "The program's text is too long or too deeply nested." "Split it up; pass data as context.";
    CompileTimeout "compile_timeout" "Reading and compiling the program took too long." "Make it shorter.";
    CompileMemoryExceeded "compile_memory_exceeded" "Reading and compiling the program needed too much memory." "Make it shorter.";
    NotCallable "not_callable" "A value that is not a function is called." "Call a function, keyword, map or set; write data as a vector.";
    InvalidKeywordCall "invalid_keyword_call" "A keyword was called with a wrong number of arguments." "Write `(:key map)` or `(:key map default)`.";
    InvalidMapCall "invalid_map_call" "A map was called with a wrong number of arguments." "Write `(map key)` or `(map key default)`.";
    ArityError "arity_error" "A builtin was called with a wrong number of arguments." "The message shows the correct call.";
    ArityMismatch "arity_mismatch" "A function or recur got a wrong number of arguments." "The message names the expected number.";
    TypeError "type_error" "An argument has the wrong type." "The message names the argument and the expected type.";
    ArithmeticError "arithmetic_error" "An arithmetic operation failed." "Check for division by zero and for values that are not numbers.";
    DestructureError "destructure_error" "A value does not fit the destructuring pattern." "The message names the expected arguments.";
    RuntimeError "runtime_error" "The program failed." "The message gives the cause.";
    UnsupportedMethod "unsupported_method" "This method does not exist." "The message lists the available methods.";
    InvalidToolArgs "invalid_tool_args" "A tool was called without named arguments." "Pass named arguments that fit the tool: `(tool/name {:key value})` in a program, an object in a call.";
    ToolError "tool_error" "A tool returned an error." "The message is the tool's error text.";
    ToolDenied "tool_denied" "The user did not allow a tool that starts a process or sends a request." "Allow it when asked, or start the program with --allow-tools.";
    ToolCallLimitExceeded "tool_call_limit_exceeded" "The program made too many tool calls." "Call fewer tools, or raise max_tool_calls.";
    LoopLimitExceeded "loop_limit_exceeded" "A loop exceeded the limit of jumps." "Use reduce, map or for over a collection.";
    Timeout "timeout" "The program exceeded its time limit." "Do less work, or raise program_timeout_ms.";
    MemoryExceeded "memory_exceeded" "The program exceeded its memory limit or call depth." "Hold less data at a time, or raise program_memory_bytes.";
    PmapError "pmap_error" "A branch of pmap failed." "The message names the branch and the cause.";
    PcallsError "pcalls_error" "A branch of pcalls failed." "The message names the branch and the cause.";
    InvalidConfig "invalid_config" "The settings of a program are invalid." "The message names the setting and its valid values.";
    NoCodeInResponse "no_code_in_response" "The reply contains no program." "Reply with one program in a fenced block tagged clojure.";
    MultipleCodeBlocks "multiple_code_blocks" "The reply contains more than one program." "Reply with exactly one program.";
    RecorderFailed "recorder_failed" "The session could not be written." "Free disk space or choose another folder with --sessions.";
}

impl Reason {
    /// The table row of this reason.
    pub fn row(self) -> &'static ReasonRow {
        &REASONS[self as usize]
    }

    /// True for an error of a running program's own code: a wrong call, argument, name or operation. Limits, stops and the
    /// outcomes of tools are none.
    pub fn is_program_fault(self) -> bool {
        matches!(
            self,
            Self::NotCallable
                | Self::InvalidKeywordCall
                | Self::InvalidMapCall
                | Self::ArityError
                | Self::ArityMismatch
                | Self::TypeError
                | Self::ArithmeticError
                | Self::DestructureError
                | Self::RuntimeError
                | Self::UnsupportedMethod
                | Self::UnboundVar
                | Self::InvalidToolArgs
                | Self::PmapError
                | Self::PcallsError
        )
    }

    /// The stable name.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The reason with this stable name.
    pub fn from_name(name: &str) -> Option<Self> {
        REASONS.iter().find(|row| row.name == name).map(|row| row.reason)
    }
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_at_the_index_of_its_reason() {
        for (place, row) in REASONS.iter().enumerate() {
            assert_eq!(row.reason as usize, place);
            assert_eq!(Reason::from_name(row.name), Some(row.reason));
        }
    }
}
