//! `${NAME}` in headers: the value of a variable of the environment, known as a secret from then on.
//!
//! In: a text of a file. Out: the text to send and the secrets in it. A value never reaches a file or a message.

use super::Secret;
use crate::config::is_secret_name;

/// The text with its variables filled in. Errors name the variable and the next step.
pub(super) fn filled(text: &str) -> Result<(String, Vec<Secret>), String> {
    let (mut out, mut secrets, mut rest) = (String::new(), Vec::new(), text);
    while let Some((before, behind)) = rest.split_once("${") {
        out.push_str(before);
        let Some((name, after)) = behind.split_once('}') else { return Err("`${` has no `}`".to_owned()) };
        let value = std::env::var(name).ok().map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        let value =
            value.ok_or_else(|| format!("the environment variable {name} is not set; set it with: export {name}=…"))?;
        secrets.push(Secret::new(value.as_str()));
        out.push_str(&value);
        rest = after;
    }
    out.push_str(rest);
    Ok((out, secrets))
}

/// Names and values.
pub type Headers = Vec<(String, String)>;

/// The headers with their variables filled in, and the secrets in them.
pub fn headers(written: &[(String, String)]) -> Result<(Headers, Vec<Secret>), String> {
    let (mut headers, mut secrets) = (Vec::new(), Vec::new());
    for (name, text) in written {
        let (value, found) = filled(text).map_err(|problem| format!("header {name}: {problem}"))?;
        headers.push((name.clone(), value));
        secrets.extend(found);
    }
    Ok((headers, secrets))
}

/// The secret part of a header: its variables; for some names all of it, and the part after a scheme such as `Bearer`. What cannot
/// be filled in is not sent, and holds nothing.
pub(super) fn secrets(name: &str, text: &str) -> Vec<Secret> {
    let (value, mut secrets) = filled(text).unwrap_or_default();
    if is_secret_name(name) {
        secrets.extend([value.as_str(), value.rsplit(' ').next().unwrap_or_default()].map(Secret::new));
    }
    secrets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_filled_in_and_missing_ones_named() {
        let (text, secrets) = filled("in ${PATH}!").unwrap();
        assert_eq!((text, secrets.len()), (format!("in {}!", std::env::var("PATH").unwrap().trim()), 1));
        assert_eq!(filled("plain").unwrap(), ("plain".to_owned(), Vec::new()));
        let missing = filled("Bearer ${NO_SUCH_VARIABLE_HERE}").unwrap_err();
        assert!(missing.contains("NO_SUCH_VARIABLE_HERE is not set; set it with"), "{missing}");
        assert!(filled("${OPEN").unwrap_err().contains("has no `}`"));
    }
}
