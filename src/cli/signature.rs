//! `signature`: check one, print its schema, generate data for it.

use ptc_core::signature::{self, Signature, json_schema, sample, sample_inputs};
use ptc_core::value::Json;

use super::arguments::SignatureCommand;
use super::{UsageError, exit, json, out};

pub(super) fn signature(command: &SignatureCommand) -> Result<u8, UsageError> {
    match command {
        SignatureCommand::Check { signature } => out(&parse(signature)?.render()),
        SignatureCommand::Schema { signature } => {
            let output = parse(signature)?.output;
            let schema = output.and_then(|output| json_schema::answer(&output, &[]));
            out(&json::printable(&schema.map_or_else(|| Json::object::<String>([]), |schema| schema.json)));
        }
        SignatureCommand::Sample { signature, seed } => {
            let signature = parse(signature)?;
            let inputs = sample_inputs(signature.params.as_deref().unwrap_or_default(), *seed);
            let output = signature.output.map(|output| sample(&output, *seed, "")).unwrap_or_default();
            out(&json::printable(&Json::object([("inputs", inputs), ("output", output)])));
        }
    }
    Ok(exit::OK)
}

fn parse(text: &str) -> Result<Signature, UsageError> {
    signature::parse(text).map_err(|error| UsageError(format!("signature_error: {}", error.render(text))))
}
