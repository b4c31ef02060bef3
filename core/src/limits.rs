//! The table of limits: name, unit, default, range, and the reason of the error when a limit is exceeded.
//!
//! Every limit of the program has one row here; agent files, help and documentation read this table.

use crate::reasons::Reason;

/// One row of the limit table. Ranges are inclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// The key in an agent file, or the name used in messages.
    pub name: &'static str,
    /// The unit of the numbers.
    pub unit: &'static str,
    /// Default value; `None` = off.
    pub default: Option<u64>,
    /// Smallest legal value.
    pub min: u64,
    /// Largest legal value.
    pub max: u64,
    /// Reason of the error when the limit is exceeded.
    pub reason: Reason,
    /// The setting that changes the limit; `fixed` if there is none.
    pub set: &'static str,
    /// The bounded resource, and guarantees that the limit does not give.
    pub meaning: &'static str,
}

impl Limit {
    /// The default as a count; for a limit that is off by default, its largest value.
    pub fn usual(&self) -> u32 {
        u32::try_from(self.default.unwrap_or(self.max)).unwrap_or(u32::MAX)
    }

    /// The default; for a limit that is off by default, its largest value.
    pub fn most(&self) -> u64 {
        self.default.unwrap_or(self.max)
    }
}

macro_rules! limits {
    ($($konst:ident $name:literal $unit:literal $default:expr, $min:expr, $max:expr, $reason:ident $set:literal $meaning:literal;)*) => {
        $(#[doc = $meaning] pub const $konst: Limit = Limit {
            name: $name, unit: $unit, default: $default, min: $min, max: $max, reason: Reason::$reason, set: $set, meaning: $meaning,
        };)*
        /// All limits in the order of the documentation.
        pub const LIMITS: &[Limit] = &[$($konst,)*];
    };
}

limits! {
    MAX_TURNS "max_turns" "turns" Some(5), 1, 10_000, MaxTurnsExceeded "agent file" "Turns of a run; in json mode the number of attempts, the last of which decides the reason of a failure.";
    MISSION_TIMEOUT "mission_timeout_ms" "ms" None, 1, 86_400_000, MissionTimeout "agent file" "Time for the whole run, checked once per turn. A running model call is cancelled at the end of the time.";
    TOKEN_LIMIT "token_limit" "tokens" None, 1, 1_000_000_000, TokenLimitExceeded "agent file" "Input and output tokens of a run, estimated if the model reports none; checked after each reply, before its program or calls are executed. The reply that exceeds the limit counts as well; an answer in it is accepted, with a notice. A child run gets the remainder at its start.";
    RETRY_TURNS "retry_turns" "turns" Some(0), 0, 1_000, BudgetExhausted "agent file" "Turns after the work turns, to correct a value that does not fit.";
    TREE_TURNS "turn_budget" "turns" Some(20), 1, 100_000, TurnBudgetExhausted "agent file" "Turns of an agent and its child agents together.";
    TREE_DEPTH "max_depth" "levels" Some(3), 1, 100, MaxDepthExceeded "agent file" "Levels of agents that call agents, including the first one.";
    REF_RETRIES "max_ref_retries" "retries" Some(1), 0, 100, MissingRefs "agent file" "Messages that ask for missing refs before the run fails; each costs a turn.";
    RUN_CALLS "max_tool_calls" "calls" None, 0, 1_000_000, ToolCallLimitExceeded "agent file" "Tool calls of a run, including rejected ones.";
    MEMORY_BYTES "memory_bytes" "bytes" Some(1_048_576), 1, 1_000_000_000, MemoryLimitExceeded "agent file" "Size of the definitions kept between turns, as readable text.";
    PROTOCOL_FAILURES "max_protocol_failures" "replies" Some(3), 1, 1_000, ProtocolError "agent file" "Consecutive replies without a control object.";
    SAME_CALLS "same_calls" "calls" Some(5), 0, 1_000, LoopDetected "agent file" "Consecutive calls of one tool with equal arguments that end a run in mode `json_loop`; in text mode with tools only if the key is set. 0 = unlimited.";
    TOOL_TIMEOUT "timeout_ms" "ms" Some(30_000), 1, 3_600_000, ToolError "agent file: `[tools.NAME]`" "Time for one call of a tool.";
    TOOL_OUTPUT "output_max_bytes" "bytes" Some(1_048_576), 1, 67_108_864, ToolError "agent file: `[tools.NAME]`" "Size of the result of one command or request.";
    MODEL_ATTEMPTS "max_attempts" "attempts" Some(3), 1, 20, LlmError "config.toml and agent file: `[retry]`" "Attempts to get one reply from a provider, including the first; only temporary failures are retried.";
    CONCURRENT_REQUESTS "concurrent_requests" "requests" Some(8), 1, 1_000, LlmError "config.toml: `[providers.NAME]`" "Concurrent requests to one provider, from all runs of the program; further requests wait, and the waiting time does not count as latency.";
    KEY_TTL "api_key_ttl_s" "s" None, 1, 31_536_000, LlmError "config.toml: `[providers.NAME]`" "Time for which the key of `api_key_command` is used; without it until the service refuses the key.";
    CONNECT_TIME "connect_ms" "ms" Some(10_000), 1, 3_600_000, LlmError "config.toml: `[providers.NAME]`" "Time to connect to a provider, including the TLS handshake.";
    FIRST_BYTE_TIME "first_byte_ms" "ms" Some(300_000), 1, 86_400_000, LlmError "config.toml: `[providers.NAME]`" "Time from sending a request to the first byte of the reply; a local model may need minutes for a long prompt.";
    SILENCE_TIME "silence_ms" "ms" Some(120_000), 1, 86_400_000, LlmError "config.toml: `[providers.NAME]`" "Silence within a reply; keep-alive comments of the service end it.";
    KEEP_ALIVE_TIME "keep_alive_ms" "ms" Some(600_000), 1, 86_400_000, LlmError "config.toml: `[providers.NAME]`" "Time within a reply during which keep-alive comments, pings, blanks or parts of an event arrive and nothing of the reply itself; a reply that is not streamed arrives within it.";
    JSON_DEPTH "json_depth" "levels" Some(512), 1, 512, JsonParseError "fixed" "Nesting of JSON from replies, contexts and tools.";
    JSON_DIGITS "json_digits" "digits" Some(10_000), 1, 10_000, JsonParseError "fixed" "Digits of a whole number in JSON from replies, contexts and tools.";
    TEMPLATE_DEPTH "template_depth" "levels" Some(20), 1, 20, TemplateError "fixed" "Nesting of template sections.";
    TEMPLATE_OUTPUT "template_output_bytes" "bytes" Some(16_777_216), 1, 16_777_216, TemplateError "fixed" "Size of a rendered template; each pass through a section counts as one more byte, which bounds nested sections.";
    SIGNATURE_DEPTH "signature_depth" "levels" Some(64), 1, 64, SignatureError "fixed" "Nesting of types in a signature.";
    FEEDBACK_REPLY_CHARS "feedback_reply_chars" "characters" Some(500), 0, 100_000, ValidationError "fixed" "Characters of an invalid reply that are quoted in the feedback to the model.";
    PROGRAM_TIMEOUT "program_timeout_ms" "ms" Some(5_000), 1, 3_600_000, Timeout "agent file" "Computing time of a program; waiting for a tool, the user or a child agent does not count.";
    PROGRAM_STEPS "program_steps" "steps" Some(1_000_000_000), 1, 1_000_000_000_000, Timeout "fixed" "Evaluation steps of a program: calls, jumps, and items processed by builtins. The same on every machine.";
    PROGRAM_MEMORY "program_memory_bytes" "bytes" Some(10_000_000), 1_000, 100_000_000_000, MemoryExceeded "agent file" "Bytes that a program may hold in addition to its input.";
    PROGRAM_DEPTH "program_depth" "calls" Some(10_000), 10, 50_000, MemoryExceeded "fixed" "Depth of nested calls.";
    LOOP_JUMPS "loop_limit" "jumps" Some(1_000), 1, 10_000, LoopLimitExceeded "agent file" "Jumps of one loop, or of one function call with recur.";
    PROGRAM_BYTES "program_bytes" "bytes" Some(1_000_000), 1, 100_000_000, ProgramTooLarge "fixed" "Size of a program's text.";
    PROGRAM_NESTING "program_nesting" "levels" Some(64), 64, 64, ParseError "fixed" "Depth of nested brackets in a program's text.";
    FORM_NESTING "form_nesting" "levels" Some(512), 512, 512, ProgramTooLarge "fixed" "Depth of nested forms after the expansion of macros such as `->`.";
    PROGRAM_SYMBOLS "max_symbols" "names" Some(10_000), 1, 1_000_000, SymbolLimitExceeded "fixed" "Distinct symbols and keywords in a program, including keywords made at run time.";
    INTEGER_DIGITS "integer_digits" "digits" Some(100), 100, 100, ParseError "fixed" "Digits of an integer literal in a program.";
    INTEGER_BITS "integer_bits" "bits" Some(300_000), 300_000, 300_000, MemoryExceeded "fixed" "Size of an integer that a program computes.";
    COMPILE_TIMEOUT "compile_timeout_ms" "ms" Some(5_000), 1, 60_000, CompileTimeout "fixed" "Time for reading, analysing and compiling a program.";
    PRINT_CHARS "max_print_length" "characters" Some(2_000), 1, 1_000_000, RuntimeError "agent file: `[format_options]`" "Characters kept of one println; the rest is cut, and its length shown.";
    PARALLEL_WORKERS "max_parallel_workers" "threads" Some(8), 1, 64, PmapError "agent file: `pmap_max_concurrency`" "Threads that pmap and pcalls of one program use at a time; without a free thread a branch runs on the caller's thread.";
    PARALLEL_TIMEOUT "pmap_timeout_ms" "ms" Some(5_000), 1, 3_600_000, Timeout "agent file" "Time for one pmap or pcalls as a whole.";
    TOOL_CALLS "max_tool_calls_per_program" "calls" None, 0, 1_000_000, ToolCallLimitExceeded "agent file" "Tool calls of one program.";
    REGEX_BYTES "regex_bytes" "bytes" Some(256), 256, 256, RuntimeError "fixed" "Length of a regular expression.";
    REGEX_INPUT "regex_input_bytes" "bytes" Some(32_768), 32_768, 32_768, RuntimeError "fixed" "Bytes of a text that a regular expression searches; the rest is ignored.";
    REGEX_STEPS "regex_steps" "steps" Some(100_000), 100_000, 100_000, TypeError "fixed" "Backtracking steps of one search.";
    REPLY_STALL_TIME "reply_stall_ms" "ms" Some(300_000), 300_000, 300_000, Cancelled "fixed" "Time for which a client of `serve` may read nothing of a pending reply; then its connection is closed, as if the client had disconnected.";
    FILE_BYTES "file_bytes" "bytes" Some(16_777_216), 16_777_216, 16_777_216, InvalidAgent "fixed" "Size of an agent file and of each file that it names, of the configuration, a theme and a key file.";
    INPUT_FILE_BYTES "input_file_bytes" "bytes" Some(20_000_000), 20_000_000, 20_000_000, InvalidContext "fixed" "Size of a file that is given to an agent for a parameter of type `:file`.";
    SCHEMA_PARTS "schema_parts" "parts" Some(100_000), 100_000, 100_000, InvalidAgent "fixed" "Subschemas of a JSON Schema after its references are replaced by what they name; a larger schema is refused before validation.";
    SCHEMA_STEPS "schema_steps" "steps" Some(2_000_000), 2_000_000, 2_000_000, ValidationError "fixed" "Steps of validating one answer with a JSON Schema, counted before validation: pairs of a subschema and a value.";
    FEEDBACK_ISSUES "feedback_issues" "issues" Some(10), 1, 1_000, ValidationError "fixed" "Validation errors listed in one feedback message; the rest is counted.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_lie_within_their_range() {
        for limit in LIMITS {
            if let Some(default) = limit.default {
                assert!((limit.min..=limit.max).contains(&default), "{}", limit.name);
            }
        }
    }
}
