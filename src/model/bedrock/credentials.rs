//! AWS credentials: from the environment, else from a profile of the shared credentials file.
//!
//! In: `AWS_BEARER_TOKEN_BEDROCK`; `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`; `AWS_PROFILE`,
//! `AWS_SHARED_CREDENTIALS_FILE`. Out: the credentials, known as secrets from then on. It must never print one, nor start a program or ask a
//! server for one.

use std::path::PathBuf;

use crate::config::{Env, read_regular_file};
use crate::model::secret::Secret;
use crate::model::secret::register_secret;
use crate::model::{ErrorClass, ModelError};

/// The name of the credentials for users.
pub(super) const NAME: &str = "AWS credentials";
/// Advice on how to set the credentials.
pub(super) const ADVICE: &str = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_BEARER_TOKEN_BEDROCK, or AWS_PROFILE for a profile of \
     ~/.aws/credentials (`aws configure export-credentials --format env` prints those of a login)";

/// Credentials that authenticate requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Credentials {
    /// A key for Bedrock alone.
    Bearer(Secret),
    /// Keys that requests are signed with.
    Keys { id: String, secret: Secret, session: Option<Secret> },
}

/// Reads the credentials. Errors are of class [`ErrorClass::Auth`].
pub(super) fn read(env: Env<'_>) -> Result<Credentials, ModelError> {
    let set = |name: &str| env(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
    let found = if let Some(token) = set("AWS_BEARER_TOKEN_BEDROCK") {
        Some(Credentials::Bearer(Secret::new(token)))
    } else {
        keys(set("AWS_ACCESS_KEY_ID"), set("AWS_SECRET_ACCESS_KEY"), set("AWS_SESSION_TOKEN"))
    };
    let credentials = match found {
        Some(found) => found,
        None => of_profile(&set)?,
    };
    match &credentials {
        Credentials::Bearer(token) => register_secret(token),
        Credentials::Keys { secret, session, .. } => {
            register_secret(secret);
            session.iter().for_each(register_secret);
        }
    }
    Ok(credentials)
}

fn keys(id: Option<String>, secret: Option<String>, session: Option<String>) -> Option<Credentials> {
    Some(Credentials::Keys { id: id?, secret: Secret::new(secret?), session: session.map(Secret::new) })
}

fn of_profile(set: &dyn Fn(&str) -> Option<String>) -> Result<Credentials, ModelError> {
    let missing = |what: String| ModelError::new(ErrorClass::Auth, format!("no {NAME}: {what}")).hint(ADVICE);
    let profile = set("AWS_PROFILE").unwrap_or_else(|| "default".to_owned());
    let home = || set("HOME").or_else(|| set("USERPROFILE")).map(|home| PathBuf::from(home).join(".aws/credentials"));
    let path = set("AWS_SHARED_CREDENTIALS_FILE").map(PathBuf::from).or_else(home);
    let path = path.ok_or_else(|| missing("AWS_ACCESS_KEY_ID is not set".to_owned()))?;
    let text = read_regular_file(&path).map_err(|error| {
        missing(format!("AWS_ACCESS_KEY_ID is not set, and {} cannot be read: {error}", path.display()))
    })?;
    let value = |name: &str| profile_value(&text, &profile, name);
    keys(value("aws_access_key_id"), value("aws_secret_access_key"), value("aws_session_token"))
        .ok_or_else(|| missing(format!("{} has no keys for the profile {profile}", path.display())))
}

/// Returns a value of a section of an INI file.
fn profile_value(text: &str, profile: &str, name: &str) -> Option<String> {
    let mut is_profile = false;
    for line in text.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            is_profile = section.trim() == profile;
        } else if let Some((_, value)) = line.split_once('=').filter(|(key, _)| is_profile && key.trim() == name) {
            return Some(value.trim().to_owned()).filter(|value| !value.is_empty());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "[default]\naws_access_key_id = AKIA1\naws_secret_access_key=secret/of+default\n\n# x\n[work]\n\
                        aws_access_key_id=AKIA2\naws_secret_access_key = secret/of+work==\naws_session_token = session-of-work\n[empty]\n";

    fn of(variables: &[(&str, &str)]) -> Result<Credentials, ModelError> {
        read(&|name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
    }

    fn pair(id: &str, secret: &str, session: Option<&str>) -> Credentials {
        Credentials::Keys { id: id.into(), secret: Secret::new(secret), session: session.map(Secret::new) }
    }

    #[test]
    fn the_environment_comes_before_the_profile() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join(".aws")).unwrap();
        std::fs::write(dir.path().join(".aws/credentials"), FILE).unwrap();
        let home = dir.path().to_str().unwrap();
        assert_eq!(of(&[("HOME", home)]).unwrap(), pair("AKIA1", "secret/of+default", None));
        assert_eq!(
            of(&[("HOME", home), ("AWS_PROFILE", "work")]).unwrap(),
            pair("AKIA2", "secret/of+work==", Some("session-of-work"))
        );
        let own = [("AWS_ACCESS_KEY_ID", "AKIA3"), ("AWS_SECRET_ACCESS_KEY", "own-secret"), ("HOME", home)];
        assert_eq!(of(&own).unwrap(), pair("AKIA3", "own-secret", None));
        let token = [("AWS_BEARER_TOKEN_BEDROCK", "bearer-token"), own[0], own[1]];
        assert_eq!(of(&token).unwrap(), Credentials::Bearer(Secret::new("bearer-token")));
    }

    #[test]
    fn missing_credentials_are_described_without_a_secret() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("credentials");
        std::fs::write(&file, FILE).unwrap();
        let file = file.to_str().unwrap();
        let cases = [
            (vec![("HOME", "/no/such/folder")], "/no/such/folder/.aws/credentials cannot be read"),
            (
                vec![("AWS_SHARED_CREDENTIALS_FILE", file), ("AWS_PROFILE", "empty")],
                "has no keys for the profile empty",
            ),
            (vec![("AWS_SHARED_CREDENTIALS_FILE", file), ("AWS_PROFILE", "none")], "has no keys for the profile none"),
            (vec![], "AWS_ACCESS_KEY_ID is not set"),
        ];
        for (variables, words) in cases {
            let error = of(&variables).unwrap_err();
            assert_eq!(error.class, ErrorClass::Auth);
            assert!(error.message.contains(words) && !error.message.contains("secret/of"), "{}", error.message);
            assert!(error.hint.unwrap().contains("AWS_PROFILE"));
        }
    }
}
