//! The protocol `bedrock`: the Converse API of Amazon Bedrock, for all models that it has.
//!
//! Requests are signed by the AWS SDK's crate with the credentials of the environment or of a profile, or carry a key. Streams are binary
//! frames. Without the feature `bedrock` of this package requests are refused with advice.

#[cfg(feature = "bedrock")]
mod aws;
mod body;
mod credentials;
mod events;
#[cfg(not(feature = "bedrock"))]
mod without;

#[cfg(feature = "bedrock")]
pub(super) use aws::FrameReader;
#[cfg(feature = "bedrock")]
use aws::sign;
#[cfg(not(feature = "bedrock"))]
pub(super) use without::FrameReader;
#[cfg(not(feature = "bedrock"))]
use without::sign;

use ptc_core::value::Json;
use reqwest::Url;
use reqwest::header::HeaderMap;

use super::endpoint::Endpoint;
use super::language::{Draft, Framing, Language, Listing, Reader, UnsignedRequest};
use super::{ErrorClass, ModelError, ToolChoice};
use crate::event::StructuredBy;

/// Converse.
#[derive(Debug)]
pub(super) struct Converse;

impl Language for Converse {
    fn question(&self, endpoint: &Endpoint) -> (Vec<String>, Option<(&'static str, &'static str)>) {
        let verb = if endpoint.stream { "converse-stream" } else { "converse" };
        (vec!["model".to_owned(), endpoint.id.clone(), verb.to_owned()], None)
    }

    fn list(&self) -> Listing {
        Listing { path: &["foundation-models"], query: None, list: "modelSummaries", name: "modelId", prefix: "" }
    }

    fn list_host(&self, host: &str) -> Option<String> {
        // Models are listed by another service than the one that runs them.
        host.strip_prefix("bedrock-runtime").map(|rest| format!("bedrock{rest}"))
    }

    fn key_header(&self, _: &Endpoint) -> (&'static str, &'static str) {
        ("authorization", "Bearer ")
    }

    fn account(&self) -> Option<(&'static str, &'static str)> {
        Some((credentials::NAME, credentials::ADVICE))
    }

    fn sign(
        &self,
        endpoint: &Endpoint,
        request: &UnsignedRequest<'_>,
        headers: &mut HeaderMap,
    ) -> Result<(), ModelError> {
        sign(request, &region(endpoint)?, &credentials::read(&|name| std::env::var(name).ok())?, headers)
    }

    fn ways(&self) -> &'static [StructuredBy] {
        &[StructuredBy::Tool, StructuredBy::Prompt]
    }

    fn framing(&self) -> Framing {
        Framing::Frames
    }

    fn body(&self, draft: &Draft<'_>) -> Json {
        body::build(draft)
    }

    fn unsupported_fields(&self, draft: &Draft<'_>) -> Vec<&'static str> {
        let asked = [
            ("seed", draft.request.options.seed.is_some()),
            ("tool_choice = \"none\"", draft.tool_choice() == Some(&ToolChoice::None)),
        ];
        asked.into_iter().filter(|(_, is_left)| *is_left).map(|(name, _)| name).collect()
    }

    fn reader(&self) -> Box<dyn Reader> {
        Box::new(events::EventReader::default())
    }
}

/// The region of an endpoint: as configured, that of its address, or that of the environment.
fn region(endpoint: &Endpoint) -> Result<String, ModelError> {
    let in_address = || {
        let url = Url::parse(&endpoint.base_url).ok()?;
        let mut labels = url.host_str()?.split('.').skip_while(|label| !label.starts_with("bedrock"));
        labels.next()?;
        labels.next().filter(|label| label.contains('-')).map(str::to_owned)
    };
    let in_environment = || ["AWS_REGION", "AWS_DEFAULT_REGION"].iter().find_map(|name| std::env::var(name).ok());
    endpoint.region.clone().or_else(in_address).or_else(in_environment).ok_or_else(|| {
        let message = format!("provider {}: the AWS region is unknown", endpoint.provider);
        ModelError::new(ErrorClass::Configuration, message)
            .hint(format!("set region = \"us-east-1\" under [providers.{}]", endpoint.provider))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_region_is_configured_or_part_of_the_address() {
        let cases = [
            (None, "https://bedrock-runtime.eu-west-1.amazonaws.com", "eu-west-1"),
            (None, "https://bedrock-runtime-fips.us-gov-west-1.amazonaws.com/", "us-gov-west-1"),
            (None, "https://vpce-1.bedrock-runtime.us-east-2.vpce.amazonaws.com", "us-east-2"),
            (Some("ap-south-1"), "https://bedrock-runtime.eu-west-1.amazonaws.com", "ap-south-1"),
            (Some("ap-south-1"), "http://127.0.0.1:9", "ap-south-1"),
        ];
        for (configured, base_url, expected) in cases {
            let mut endpoint = Endpoint::new("aws", "m", base_url);
            endpoint.region = configured.map(str::to_owned);
            assert_eq!(region(&endpoint).unwrap(), expected, "{base_url}");
        }
        assert_eq!(
            Converse.list_host("bedrock-runtime.eu-west-1.amazonaws.com").unwrap(),
            "bedrock.eu-west-1.amazonaws.com"
        );
        assert_eq!(Converse.list_host("127.0.0.1"), None);
    }
}
