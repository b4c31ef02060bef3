//! `signature`: check one, print its schema, generate data for it.

use ptc_core::signature::{self, Signature, json_schema, sample, sample_inputs};
use ptc_core::value::Json;
use serde::Serialize;

use super::arguments::SignatureCommand;
use super::output::{UsageError, exit, print_json, print_line};

/// Output of `signature sample`.
#[derive(Serialize)]
struct SampleJson {
    inputs: Json,
    output: Json,
}

pub(super) fn signature(command: &SignatureCommand) -> Result<u8, UsageError> {
    match command {
        SignatureCommand::Check { signature } => print_line(&parse(signature)?.render()),
        SignatureCommand::Schema { signature } => {
            let output = parse(signature)?.output;
            let schema = output.and_then(|output| json_schema::answer(&output, &[]));
            print_json(&schema.map_or_else(Json::empty, |schema| schema.json));
        }
        SignatureCommand::Sample { signature, seed } => {
            let signature = parse(signature)?;
            let inputs = sample_inputs(signature.params.as_deref().unwrap_or_default(), *seed);
            let output = signature.output.map(|output| sample(&output, *seed, "")).unwrap_or_default();
            print_json(&SampleJson { inputs, output });
        }
    }
    Ok(exit::OK)
}

fn parse(text: &str) -> Result<Signature, UsageError> {
    signature::parse(text).map_err(|error| UsageError(format!("signature_error: {}", error.render(text))))
}
