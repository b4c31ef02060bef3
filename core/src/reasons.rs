//! The table of error reasons: every stable reason name, what it means and what a person can do about it.
//!
//! Source: the agent contract §20 and the settled decisions. Names never change once released; messages may.

/// One row of the reason table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReasonRow {
    /// The reason itself.
    pub reason: Reason,
    /// Its stable name, as files and `--json` show it.
    pub name: &'static str,
    /// What happened, one sentence.
    pub meaning: &'static str,
    /// What to do next, one sentence.
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
    JsonParseError "json_parse_error" "The reply holds no JSON, malformed JSON, or JSON of the wrong outer shape." "Look at the raw reply; raise max_turns or use a recovery level that repairs more.";
    ValidationError "validation_error" "The answer does not fit the signature." "Look at the validation errors; describe the field in the prompt or in field_descriptions, or raise max_turns.";
    ReplyTruncated "reply_truncated" "The model stopped because its output limit was reached." "Raise max_tokens in model_options, or ask for a shorter answer.";
    ContentFiltered "content_filtered" "The provider's filter withheld the reply." "Change the prompt or use another model.";
    Refused "refused" "The model refused to answer." "Change the prompt or use another model.";
    MaxTurnsExceeded "max_turns_exceeded" "All turns were used without a valid answer." "Raise max_turns, or make the prompt clearer.";
    MissionTimeout "mission_timeout" "The time for the whole run is over." "Raise mission_timeout_ms.";
    TokenLimitExceeded "budget_callback_exceeded" "The token limit of the run was exceeded." "Raise token_limit.";
    LlmError "llm_error" "The model could not be reached or answered with an error." "Read the message: it holds the service's own words and what to try.";
    LlmRequired "llm_required" "No model was named." "Name one with `model` in the agent file, `default_model` in the configuration, or --model.";
    LlmNotFound "llm_not_found" "The named model or recording does not exist." "`ptc-workbench models` lists what can be used; the model `sample` answers any signature.";
    TemplateError "template_error" "The prompt template cannot be read or filled." "Correct the template at the shown place.";
    SignatureError "signature_error" "The signature cannot be read." "Correct the signature at the shown place.";
    InvalidAgent "invalid_agent" "The agent's definition is not usable." "Correct the named key.";
    InvalidContext "invalid_context" "The context is not a JSON object, or does not fit the parameters." "Correct the context at the shown place.";
    ChainedFailure "chained_failure" "The step given as context had failed." "Run the earlier step again.";
    ChainError "chain_error" "The earlier step does not return what the next agent needs." "Give the earlier agent an output field of each missing name, or make the parameters optional.";
    Cancelled "cancelled" "The run was stopped by a person." "Run again.";
    Suspended "suspended" "The run waits for a person." "Answer in the interface.";
    SessionUnreadable "session_unreadable" "The session cannot be read." "The message says what could be read; `ptc-workbench sessions list` shows the others.";
    WriteFailed "write_failed" "A file could not be written." "Choose another place.";
    InternalError "internal_error" "The program broke off; this is a fault of the program." "Start it with --log FILE, do the same again and report what the file says.";
    RecorderFailed "recorder_failed" "The session could not be written." "Free disk space or choose another folder with --sessions.";
}

impl Reason {
    /// The table row of this reason.
    pub fn row(self) -> &'static ReasonRow {
        &REASONS[self as usize]
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
    fn every_row_stands_at_the_place_of_its_reason() {
        for (place, row) in REASONS.iter().enumerate() {
            assert_eq!(row.reason as usize, place);
            assert_eq!(Reason::from_name(row.name), Some(row.reason));
        }
    }
}
