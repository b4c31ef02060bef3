//! Questions of a server to the user (elicitation): a form becomes a question with an answer in text, a page is named and never opened.
//!
//! In: a request of a server, the log with its active calls. Out: the user's answer as the form's fields, or that there is none. Everything
//! in the request is untrusted; the answer is checked against the form before it is sent.

use std::fmt::Write as _;

use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction};
use serde_json::{Map, Value};

use super::log::Log;

/// Times that an answer which does not fit is asked for again.
const ATTEMPTS: usize = 3;
/// Maximum bytes of a server's message.
const MESSAGE_BYTES: usize = 4_000;
/// Maximum number of items in the example of a list.
const ITEMS_MAX: u64 = 8;
/// The answers that give nothing.
const DECLINE: &str = "decline";
const CANCEL: &str = "cancel";
const ACCEPT: &str = "accept";

/// Asks the user what a server asks, and reports in the call why there is no answer.
pub(super) async fn elicit(server: &str, params: &ElicitRequestParams, log: &Log) -> ElicitResult {
    let asked = match params {
        ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => {
            let schema = serde_json::to_value(requested_schema).unwrap_or_default();
            ask_form(server, message, &Form::of(schema), log).await
        }
        ElicitRequestParams::UrlElicitationParams { message, url, .. } => ask_page(server, message, url, log).await,
        _ => Outcome::Declined("unsupported kind of question".to_owned()),
    };
    match asked {
        Outcome::Given(content) => {
            let mut result = ElicitResult::new(ElicitationAction::Accept);
            result.content = content;
            result
        }
        Outcome::Declined(why) => {
            log.broadcast(&format!("the question of the server {server} was declined: {why}"));
            ElicitResult::new(ElicitationAction::Decline)
        }
        Outcome::Cancelled => ElicitResult::new(ElicitationAction::Cancel),
    }
}

/// Outcome of a question.
enum Outcome {
    Given(Option<Value>),
    Declined(String),
    Cancelled,
}

impl Outcome {
    /// The outcome of an answer that is not content.
    fn of_refusal(answer: &str) -> Option<Self> {
        match answer.trim() {
            DECLINE => Some(Self::Declined("by the user".to_owned())),
            CANCEL => Some(Self::Cancelled),
            _ => None,
        }
    }

    fn without_user() -> Self {
        Self::Declined("no user is present".to_owned())
    }
}

fn introduction(server: &str, message: &str) -> String {
    let end = message.floor_char_boundary(MESSAGE_BYTES);
    let cut = if end < message.len() { format!(" … ({} bytes)", message.len()) } else { String::new() };
    let message = message.get(..end).unwrap_or_default().trim();
    format!("The server {server} asks, and receives the answer (give it no passwords or keys):\n{message}{cut}")
}

async fn ask_page(server: &str, message: &str, url: &str, log: &Log) -> Outcome {
    let about = "It refers to this page, which is not opened for you. Open it yourself if you trust it, then accept:";
    let text = format!("{}\n{about}\n{url}", introduction(server, message));
    let options = [ACCEPT, DECLINE, CANCEL].map(ToOwned::to_owned).to_vec();
    match log.ask(&text, options).await {
        None => Outcome::without_user(),
        Some(answer) if answer.trim() == ACCEPT => Outcome::Given(None),
        Some(answer) => Outcome::of_refusal(&answer).unwrap_or(Outcome::Cancelled),
    }
}

async fn ask_form(server: &str, message: &str, form: &Form, log: &Log) -> Outcome {
    let text = format!("{}{}", introduction(server, message), form.describe());
    let mut problem = String::new();
    for _ in 0..ATTEMPTS {
        let Some(answer) = log.ask(&format!("{problem}{text}"), form.options()).await else {
            return Outcome::without_user();
        };
        if let Some(refusal) = Outcome::of_refusal(&answer) {
            return refusal;
        }
        match form.read(&answer) {
            Ok(content) => return Outcome::Given(Some(Value::Object(content))),
            Err(why) => problem = format!("The answer does not fit: {why}\n"),
        }
    }
    Outcome::Declined(format!("{ATTEMPTS} answers did not fit"))
}

/// A form: fields with primitive values.
struct Form {
    schema: Value,
}

impl Form {
    fn of(schema: Value) -> Self {
        Self { schema }
    }

    fn fields(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.schema.get("properties").and_then(Value::as_object).into_iter().flatten()
    }

    /// The only field.
    fn only_field(&self) -> Option<(&String, &Value)> {
        let mut fields = self.fields();
        fields.next().filter(|_| fields.next().is_none())
    }

    /// The values to choose from, if the form is one choice.
    fn choices(&self) -> Option<Vec<String>> {
        let (_, field) = self.only_field()?;
        let choices = choices(field);
        // A value that looks like a refusal can only be written as JSON.
        (!choices.is_empty() && !choices.iter().any(|choice| [DECLINE, CANCEL].contains(&choice.as_str())))
            .then_some(choices)
    }

    /// The answers that the question offers; empty for any text.
    fn options(&self) -> Vec<String> {
        let choices = if self.fields().next().is_none() { Some(vec![ACCEPT.to_owned()]) } else { self.choices() };
        match choices {
            Some(choices) => choices.into_iter().chain([DECLINE, CANCEL].map(ToOwned::to_owned)).collect(),
            None => Vec::new(),
        }
    }

    /// The fields, and how to answer.
    fn describe(&self) -> String {
        let required = self.schema.get("required").and_then(Value::as_array);
        let mut text = String::new();
        // First: a long form is scrolled.
        if self.options().is_empty() {
            let is_required = |name: &str| required.is_none_or(|names| names.iter().any(|known| known == name));
            let example: Map<String, Value> = self
                .fields()
                .filter(|(name, _)| is_required(name))
                .map(|(name, field)| (name.clone(), example(field)))
                .collect();
            let or = if self.only_field().is_some() { ", or with its value" } else { "" };
            let example = Value::Object(example);
            _ = write!(text, "\nAnswer with JSON such as {example}{or}. `{DECLINE}` and `{CANCEL}` give no answer.");
        }
        for (name, field) in self.fields() {
            let kind = field.get("type").and_then(Value::as_str).unwrap_or("string");
            let is_required = required.is_some_and(|names| names.iter().any(|known| known == name));
            let optional = if is_required { "" } else { ", optional" };
            let words = ["title", "description"].iter().filter_map(|key| field.get(*key)?.as_str());
            let about = words.fold(String::new(), |about, words| about + " — " + words);
            let (one, some) = (choices(field), item_choices(field));
            let choices = match (one.as_slice(), some.as_slice()) {
                ([], []) => String::new(),
                ([], some) => format!(", any of {}", some.join(" | ")),
                (one, _) => format!(": {}", one.join(" | ")),
            };
            let limits = limits(field);
            _ = write!(text, "\n  {name} ({kind}{limits}{optional}{choices}){about}");
        }
        text
    }

    /// Reads an answer. Errors: why it does not fit.
    fn read(&self, answer: &str) -> Result<Map<String, Value>, String> {
        let answer = answer.trim();
        let content = match (serde_json::from_str::<Value>(answer), self.only_field()) {
            (Ok(Value::Object(content)), _) => content,
            (parsed, Some((name, field))) => {
                let is_text = field.get("type").and_then(Value::as_str).is_none_or(|kind| kind == "string");
                let value = parsed.ok().filter(|_| !is_text).unwrap_or_else(|| Value::from(answer));
                Map::from_iter([(name.clone(), value)])
            }
            (_, None) if self.fields().next().is_none() => Map::new(),
            (Ok(_), None) => return Err("it is not a JSON object".to_owned()),
            (Err(error), None) => return Err(format!("it is not JSON: {error}")),
        };
        let content_value = Value::Object(content.clone());
        // A form that is not a schema accepts every answer; its server checks it.
        let validator = jsonschema::options().should_validate_formats(true).build(&self.schema);
        let Ok(validator) = validator else { return Ok(content) };
        match validator.iter_errors(&content_value).next() {
            Some(error) => Err(format!("{}: {error}", error.instance_path())),
            None => Ok(content),
        }
    }
}

/// The values of a field with a fixed list.
fn choices(field: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().map(ToOwned::to_owned);
    if field.get("type").and_then(Value::as_str) == Some("boolean") {
        return ["true", "false"].map(ToOwned::to_owned).to_vec();
    }
    if let Some(values) = field.get("enum").and_then(Value::as_array) {
        return values.iter().filter_map(text).collect();
    }
    let titled = field.get("oneOf").and_then(Value::as_array);
    titled.into_iter().flatten().filter_map(|choice| text(choice.get("const")?)).collect()
}

/// The values that the items of a list are chosen from.
fn item_choices(field: &Value) -> Vec<String> {
    let Some(items) = field.get("items") else { return Vec::new() };
    let titled = items.get("anyOf").and_then(Value::as_array).into_iter().flatten();
    let titled: Vec<String> =
        titled.filter_map(|choice| choice.get("const")?.as_str().map(ToOwned::to_owned)).collect();
    if titled.is_empty() { choices(items) } else { titled }
}

/// The limits of a field, after a comma: of a number, or of the length of a text or list; and the form of a text.
fn limits(field: &Value) -> String {
    let range = |least: &str, most: &str| {
        let bound = |key: &str| field.get(key).filter(|bound| bound.is_number());
        match (bound(least), bound(most)) {
            (Some(least), Some(most)) => Some(format!("{least} to {most}")),
            (Some(least), None) => Some(format!("at least {least}")),
            (None, Some(most)) => Some(format!("at most {most}")),
            (None, None) => None,
        }
    };
    let of_length = |range: Option<String>, what: &str| {
        let plural = |range: &str| if range.ends_with(" 1") { "" } else { "s" };
        range.map(|range| format!("{range} {what}{}", plural(&range)))
    };
    let limits = [
        field.get("format").and_then(Value::as_str).map(ToOwned::to_owned),
        range("minimum", "maximum"),
        of_length(range("minLength", "maxLength"), "character"),
        of_length(range("minItems", "maxItems"), "item"),
    ];
    limits.into_iter().flatten().fold(String::new(), |text, limit| text + ", " + &limit)
}

/// A value of the field's type.
fn example(field: &Value) -> Value {
    if let Some(value) = field.get("default") {
        return value.clone();
    }
    if let Some(choice) = choices(field).into_iter().next() {
        return serde_json::from_str::<bool>(&choice).map_or_else(|_| Value::from(choice), Value::from);
    }
    match field.get("type").and_then(Value::as_str) {
        Some("integer" | "number") => ["minimum", "maximum"]
            .iter()
            .find_map(|bound| field.get(*bound).filter(|bound| bound.is_number()).cloned())
            .unwrap_or_else(|| Value::from(1)),
        Some("array") => {
            let least = field.get("minItems").and_then(Value::as_u64).map_or(0, |least| least.min(ITEMS_MAX) as usize);
            let items = item_choices(field).into_iter().chain(std::iter::repeat("…".to_owned()));
            items.take(least).map(Value::from).collect()
        }
        _ => match field.get("format").and_then(Value::as_str) {
            Some("email") => Value::from("name@example.com"),
            Some("uri") => Value::from("https://example.com/"),
            Some("date") => Value::from("2026-01-31"),
            Some("date-time") => Value::from("2026-01-31T12:00:00Z"),
            _ => Value::from("…"),
        },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn form(properties: &Value, required: &Value) -> Form {
        Form::of(json!({"type": "object", "properties": properties, "required": required}))
    }

    #[test]
    fn the_limits_of_a_field_are_shown_and_its_example_keeps_them() {
        let fields = json!({
            "nights": {"type": "integer", "minimum": 2, "maximum": 30},
            "budget": {"type": "number", "maximum": 0.5},
            "mail": {"type": "string", "format": "email", "minLength": 3},
            "days": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 7},
        });
        let text = form(&fields, &json!(["nights", "budget", "mail", "days"])).describe();
        for line in [
            "nights (integer, 2 to 30)",
            "budget (number, at most 0.5)",
            "mail (string, email, at least 3 characters)",
            "days (array, 1 to 7 items)",
            r#"such as {"nights":2,"budget":0.5,"mail":"name@example.com","days":["…"]}."#,
        ] {
            assert!(text.contains(line), "{line}: {text}");
        }
    }

    #[test]
    fn a_form_of_one_choice_offers_its_values_and_other_forms_take_json() {
        let choice = form(&json!({"colour": {"type": "string", "enum": ["red", "blue"]}}), &json!(["colour"]));
        assert_eq!(choice.options(), ["red", "blue", "decline", "cancel"]);
        assert_eq!(choice.read("red").unwrap(), *json!({"colour": "red"}).as_object().unwrap());
        assert!(choice.read("green").is_err());
        let yes = form(&json!({"sure": {"type": "boolean"}}), &json!(["sure"]));
        assert_eq!(yes.options(), ["true", "false", "decline", "cancel"]);
        assert_eq!(yes.read("true").unwrap()["sure"], json!(true));
        assert_eq!(form(&json!({}), &json!([])).options(), ["accept", "decline", "cancel"]);
        assert!(form(&json!({}), &json!([])).read("accept").unwrap().is_empty());
        let two =
            form(&json!({"name": {"type": "string"}, "age": {"type": "integer", "minimum": 1}}), &json!(["name"]));
        assert!(two.options().is_empty());
        assert!(two.describe().contains("Answer with JSON such as {\"name\":\"…\"}."), "{}", two.describe());
        assert_eq!(two.read(" {\"name\": \"Ada\", \"age\": 36} ").unwrap()["age"], json!(36));
        assert!(two.read("Ada").unwrap_err().contains("not JSON"));
        assert!(two.read("{\"age\": 36}").unwrap_err().contains("name"));
        assert!(two.read("{\"name\": \"Ada\", \"age\": 0}").unwrap_err().starts_with("/age: "));
    }

    #[test]
    fn formats_are_checked_and_the_items_of_lists_are_named() {
        let contact = form(
            &json!({"email": {"type": "string", "format": "email"},
                "pets": {"type": "array", "items": {"type": "string", "enum": ["cat", "dog"]}},
                "fish": {"type": "array", "items": {"anyOf": [{"const": "f-1", "title": "Tuna"}, {"const": "f-2"}]}}}),
            &json!(["email"]),
        );
        assert!(contact.read("{\"email\": \"nonsense\"}").unwrap_err().starts_with("/email: "));
        assert!(contact.read("{\"email\": \"ada@example.org\", \"pets\": [\"cat\"]}").is_ok());
        let described = contact.describe();
        assert!(described.contains("pets (array, optional, any of cat | dog)"), "{described}");
        assert!(described.contains("fish (array, optional, any of f-1 | f-2)"), "{described}");
    }

    #[test]
    fn a_form_of_one_field_takes_its_value() {
        let text = form(&json!({"name": {"type": "string"}}), &json!(["name"]));
        assert_eq!(text.read("42").unwrap()["name"], json!("42"), "a text stays one");
        assert_eq!(text.read("{\"name\": \"x\"}").unwrap()["name"], json!("x"));
        let number = form(&json!({"count": {"type": "integer"}}), &json!(["count"]));
        assert_eq!(number.read("42").unwrap()["count"], json!(42));
        assert!(number.read("many").is_err());
        // A value that is also a refusal is not offered as one.
        let odd = form(&json!({"verb": {"type": "string", "enum": ["cancel", "pay"]}}), &json!(["verb"]));
        assert!(odd.options().is_empty());
        assert_eq!(odd.read("{\"verb\": \"cancel\"}").unwrap()["verb"], json!("cancel"));
    }
}
