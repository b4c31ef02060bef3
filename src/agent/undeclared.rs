//! Inputs that a signature does not declare.
//!
//! In: a signature, a context. Out: findings. It must never decide whether they are errors.

use ptc_core::reasons::Reason;
use ptc_core::signature::Signature;
use ptc_core::text::did_you_mean;
use ptc_core::value::Json;

use super::diagnostic::{Diagnostic, Place};

/// Returns a finding for each input of a context that this signature does not declare.
pub(super) fn undeclared_inputs(signature: &Signature, context: &Json) -> Vec<Diagnostic> {
    let names = || signature.params.iter().flatten().map(|field| field.name.as_str());
    if names().next().is_none() {
        return Vec::new();
    }
    let members = context.members().unwrap_or_default().iter();
    let undeclared = members.map(|member| &member.key).filter(|name| signature.param(name).is_none());
    let found = undeclared.map(|name| {
        let (near, known) = (did_you_mean(name, names()), names().collect::<Vec<_>>().join(", "));
        let message = format!("no input `{name}`{near} (inputs: {known})");
        Diagnostic::error(Place::Context, Reason::InvalidContext, message).key(name.clone())
    });
    found.collect()
}
