//! The inventories of a program's prompt: tools, data, definitions.

use ptc_core::lisp::firewall::{is_hidden, visible};
use ptc_core::lisp::hidden::HIDDEN;
use ptc_core::lisp::{Binding, Memory};
use ptc_core::signature::{self, Field, Signature, Type, render_inventory, underscored};
use ptc_core::value::{Bounds, Keyword, Value};

use crate::agent::Plan;
use crate::event::MessagePart;
use crate::prompt::{cut, data as untrusted, ours};
use crate::tool::Tool;

/// Columns of a name.
const NAME_COLUMNS: usize = 30;
/// The size of a sample.
const SAMPLE: Bounds = Bounds { items: Some(3), chars: Some(80) };
/// Characters of a sample.
const SAMPLE_CHARS: usize = 80;

/// The readable form of a value for the model: what the firewall hides is left out.
pub fn readable(plan: &Plan, value: &Value, bounds: Bounds) -> String {
    if plan.hides() { visible(value).print(bounds).text } else { value.print(bounds).text }
}

fn plain_name(key: &Value) -> String {
    key.as_str().map_or_else(|| key.to_string().trim_start_matches(':').to_owned(), ToOwned::to_owned)
}

/// One line per tool, with an example of a call.
pub(in crate::prompt) fn tools(plan: &Plan) -> String {
    let tools: Vec<&Tool> = plan.program_tools().collect();
    if tools.is_empty() {
        return "# Tools\n\nThere are no tools.\n".to_owned();
    }
    tools.iter().fold("# Tools\n\n".to_owned(), |text, tool| format!("{text}{}", line(plan, tool)))
}

fn line(plan: &Plan, tool: &Tool) -> String {
    let about = tool.description.as_deref().map(|text| format!("  ; {}", text.replace('\n', " "))).unwrap_or_default();
    let Some(signature) = &tool.signature else {
        return format!("tool/{}(…){about}\n", tool.name);
    };
    let params = signature.params.as_deref().unwrap_or_default();
    let name = tool.name.replace('_', "-");
    let args: Vec<String> = params
        .iter()
        .filter(|field| !field.ty.is_optional())
        .map(|field| {
            let value = signature::example(&field.ty).to_value();
            format!(":{} {}", field.name.replace('_', "-"), literal(&value))
        })
        .collect();
    let call = if args.is_empty() { format!("(tool/{name})") } else { format!("(tool/{name} {{{}}})", args.join(" ")) };
    let shown = if plan.hides_results_of(tool) { without_hidden(signature) } else { signature.clone() };
    format!("{}{about}\n  {call}\n", render_inventory(&tool.name, &shown))
}

/// The signature without the fields of its output that the firewall of its child agent hides.
fn without_hidden(signature: &Signature) -> Signature {
    Signature { output: signature.output.as_ref().map(shown_type), ..signature.clone() }
}

/// The depth of a type is bounded by its reader.
fn shown_type(ty: &Type) -> Type {
    match ty {
        Type::List(item) => Type::List(Box::new(shown_type(item))),
        Type::Optional(inner) => Type::Optional(Box::new(shown_type(inner))),
        Type::Record { fields, closed } => {
            let kept = fields.iter().filter(|field| !is_hidden(&field.name));
            let fields = kept.map(|field| Field { ty: shown_type(&field.ty), ..field.clone() }).collect();
            Type::Record { fields, closed: *closed }
        }
        other => other.clone(),
    }
}

/// A value as a program writes it, with keywords for the keys of maps.
pub(super) fn literal(value: &Value) -> String {
    match value {
        Value::Map(map) => {
            let entries = map.iter().map(|(key, value)| format!(":{} {}", plain_name(key), literal(value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
        _ => match value.as_list() {
            Some(items) => format!("[{}]", items.iter().map(literal).collect::<Vec<_>>().join(" ")),
            None => value.to_string(),
        },
    }
}

/// One line per input: name, type, sample, description.
pub(super) fn data(plan: &Plan, context: &Value, descriptions: &[(String, String)]) -> Vec<MessagePart> {
    let Value::Map(map) = context else { return Vec::new() };
    if map.is_empty() {
        return Vec::new();
    }
    let mut parts = vec![ours("data", "\n# Data\n\n")];
    for (key, value) in map.iter() {
        let name = plain_name(key);
        let about = about(plan, &name, descriptions).map(|text| format!("  ; {text}")).unwrap_or_default();
        let declared = plan.signature.param(&name).map(|field| field.ty.render());
        let kind = declared.unwrap_or_else(|| inferred(value));
        parts.push(ours("data", format!("{:<NAME_COLUMNS$} {kind}  ", format!("data/{name}"))));
        if plan.hides() && is_hidden(&name) {
            parts.push(ours("data", HIDDEN));
        } else {
            parts.push(untrusted("data", cut(&readable(plan, value, SAMPLE), SAMPLE_CHARS).replace('\n', " ")));
        }
        parts.push(ours("data", format!("{about}\n")));
    }
    parts
}

fn about<'p>(plan: &'p Plan, name: &str, descriptions: &'p [(String, String)]) -> Option<&'p str> {
    let own = plan.signature.param(name).and_then(|field| field.description.as_deref());
    own.or_else(|| {
        let all = plan.agent.context_descriptions.iter().chain(descriptions);
        let found = all.into_iter().find(|(key, _)| underscored(key) == underscored(name));
        found.map(|(_, text)| text.as_str())
    })
}

/// The kind of a value without a declared type: `list[5]`, `map[3]`, `string`.
fn inferred(value: &Value) -> String {
    match value {
        Value::Map(map) => format!("map[{}]", map.len()),
        _ => match value.as_list() {
            Some(items) => format!("list[{}]", items.len()),
            None => value.kind().to_string(),
        },
    }
}

/// One line per definition that was kept.
pub(super) fn memory(plan: &Plan, memory: &Memory) -> Vec<MessagePart> {
    if memory.is_empty() {
        return Vec::new();
    }
    let mut parts = vec![ours("memory", "\n# Kept definitions\n\n")];
    for (name, binding) in sorted(memory) {
        parts.push(ours("memory", format!("{name} = ")));
        parts.push(untrusted("memory", shown(plan, &name, binding)));
        let doc = binding.doc.as_deref().map(|doc| format!("  ; {doc}")).unwrap_or_default();
        parts.push(ours("memory", format!("{doc}\n")));
    }
    parts
}

fn shown(plan: &Plan, name: &str, binding: &Binding) -> String {
    if plan.hides() && is_hidden(name) {
        return HIDDEN.to_owned();
    }
    cut(&readable(plan, &binding.value, SAMPLE), SAMPLE_CHARS).replace('\n', " ")
}

/// The definitions by name.
pub(super) fn sorted(memory: &Memory) -> Vec<(String, &Binding)> {
    let mut all: Vec<(String, &Binding)> =
        memory.iter().map(|(name, binding): (&Keyword, &Binding)| (name.name().to_owned(), binding)).collect();
    all.sort_by(|one, other| one.0.cmp(&other.0));
    all
}
