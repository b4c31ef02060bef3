//! The check of a request's `Host` and `Origin`.
//!
//! A web page can send requests to any address of the machine that shows it, under the name of the page's server (DNS
//! rebinding) or with its own origin. In: headers. Out: a refusal, or nothing. It must never let a request through because a
//! header is unreadable.

use std::net::{IpAddr, SocketAddr};

use hyper::header::{HOST, HeaderMap, HeaderValue, ORIGIN};

/// Requests that a listener answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guard {
    /// Those for this machine, from programs and pages of this machine.
    Loopback,
    /// Those for any host; pages only of the host that the request is for.
    Open,
}

/// Reason why a request is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// Its `Host` is another machine's, absent or unreadable.
    Host(String),
    /// Its `Origin` is a page of another machine.
    Origin(String),
    /// Its `Origin` is a page of another host than the one that the request is for.
    OtherHost {
        /// The origin of the page.
        origin: String,
        /// The host that the request is for.
        host: String,
    },
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Host(host) => write!(f, "Host `{host}` is not this machine"),
            Self::Origin(origin) => write!(f, "Origin `{origin}`: pages of other machines are not served"),
            Self::OtherHost { origin, host } => {
                write!(f, "Origin `{origin}`: only pages of the host of the request, `{host}`, are served")
            }
        }
    }
}

impl Refusal {
    /// Returns advice for the sender of the request.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Host(_) => "Send requests to 127.0.0.1 or localhost.",
            Self::Origin(_) => "Send requests from a program, or from a page of the same machine.",
            Self::OtherHost { .. } => {
                "Send requests from a program, or from a page with the same host and port; pages of this machine are served when the server listens on 127.0.0.1."
            }
        }
    }
}

impl Guard {
    /// The guard of a listener at this address.
    pub fn of(address: SocketAddr) -> Self {
        if address.ip().is_loopback() { Self::Loopback } else { Self::Open }
    }

    /// Checks a request by its headers.
    pub fn check(self, headers: &HeaderMap) -> Result<(), Refusal> {
        let host = text(headers, &HOST);
        if self == Self::Loopback && !host.as_deref().is_some_and(|host| is_loopback(name_of(host))) {
            return Err(Refusal::Host(host.unwrap_or_default()));
        }
        // A browser sends `null` for pages without an origin, which may be anyone's.
        let Some(origin) = text(headers, &ORIGIN) else { return Ok(()) };
        let authority = origin.split_once("://").map(|(_, rest)| rest);
        let is_own = authority.is_some_and(|authority| match self {
            Self::Loopback => is_loopback(name_of(authority)),
            Self::Open => host.as_deref().is_some_and(|host| host.eq_ignore_ascii_case(authority)),
        });
        match self {
            _ if is_own => Ok(()),
            Self::Loopback => Err(Refusal::Origin(origin)),
            Self::Open => Err(Refusal::OtherHost { origin, host: host.unwrap_or_default() }),
        }
    }
}

/// The origin of the page of this machine that sent a request; `None` for requests of programs and of pages of other machines.
pub fn loopback_origin(headers: &HeaderMap) -> Option<&HeaderValue> {
    let mut origins = headers.get_all(&ORIGIN).iter();
    let (Some(origin), None) = (origins.next(), origins.next()) else { return None };
    let (_, authority) = origin.to_str().ok()?.split_once("://")?;
    is_loopback(name_of(authority)).then_some(origin)
}

/// The values of a header as one text; unreadable bytes become `?`.
fn text(headers: &HeaderMap, name: &hyper::header::HeaderName) -> Option<String> {
    let values: Vec<String> = headers
        .get_all(name)
        .iter()
        .map(|value| value.as_bytes().iter().map(|&byte| if byte.is_ascii_graphic() { byte as char } else { '?' }))
        .map(Iterator::collect)
        .collect();
    (!values.is_empty()).then(|| values.join(","))
}

/// The name or address in `NAME:PORT` or `[ADDRESS]:PORT`.
fn name_of(authority: &str) -> &str {
    if let Some(rest) = authority.strip_prefix('[') {
        return rest.split_once(']').map_or(rest, |(address, _)| address);
    }
    authority.rsplit_once(':').map_or(authority, |(name, _)| name)
}

fn is_loopback(name: &str) -> bool {
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::{Guard, Refusal, loopback_origin};
    use hyper::header::{HOST, HeaderMap, HeaderValue, ORIGIN};

    fn check(guard: Guard, host: Option<&str>, origin: Option<&str>) -> Result<(), Refusal> {
        let mut headers = HeaderMap::new();
        for (name, value) in [(HOST, host), (ORIGIN, origin)] {
            if let Some(value) = value {
                headers.append(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
            }
        }
        guard.check(&headers)
    }

    #[test]
    fn a_loopback_listener_answers_requests_for_this_machine_only() {
        for host in ["localhost", "LOCALHOST:4142", "127.0.0.1:1", "127.8.9.1", "[::1]:4142"] {
            assert_eq!(check(Guard::Loopback, Some(host), None), Ok(()), "{host}");
        }
        for host in ["evil.example", "localhost.evil.example:4142", "10.0.0.1", "127.0.0.1.evil.example", "", "\u{fc}"]
        {
            assert!(matches!(check(Guard::Loopback, Some(host), None), Err(Refusal::Host(_))), "{host}");
        }
        assert!(check(Guard::Loopback, None, None).is_err());
    }

    #[test]
    fn pages_of_other_machines_are_refused_by_every_listener() {
        let host = Some("localhost:4142");
        for origin in ["http://localhost:3000", "http://127.0.0.1:3000", "http://[::1]"] {
            assert_eq!(check(Guard::Loopback, host, Some(origin)), Ok(()), "{origin}");
        }
        for origin in
            ["https://evil.example", "null", "http://localhost.evil.example", "http://localhost@evil.example", ""]
        {
            assert!(matches!(check(Guard::Loopback, host, Some(origin)), Err(Refusal::Origin(_))), "{origin}");
            assert!(
                matches!(check(Guard::Open, Some("agents.example"), Some(origin)), Err(Refusal::OtherHost { .. })),
                "{origin}"
            );
        }
        // Beyond loopback a page of this machine is one of another host, and the refusal says so.
        let refused = check(Guard::Open, Some("10.0.0.1:4142"), Some("http://localhost:3000")).unwrap_err();
        let expected =
            "Origin `http://localhost:3000`: only pages of the host of the request, `10.0.0.1:4142`, are served";
        assert_eq!(refused.to_string(), expected);
        assert!(refused.hint().contains("the same host and port") && !refused.hint().contains("same machine"));
        assert_eq!(check(Guard::Open, Some("agents.example"), Some("https://agents.example")), Ok(()));
        assert_eq!(check(Guard::Open, Some("agents.example"), None), Ok(()));
    }

    #[test]
    fn only_one_origin_of_this_machine_is_a_loopback_origin() {
        let found = |origins: &[&str]| {
            let mut headers = HeaderMap::new();
            for origin in origins {
                headers.append(ORIGIN, HeaderValue::from_bytes(origin.as_bytes()).unwrap());
            }
            loopback_origin(&headers).cloned()
        };
        for origin in ["http://localhost:3000", "https://127.0.0.1", "http://[::1]:8080"] {
            assert_eq!(found(&[origin]), Some(HeaderValue::from_str(origin).unwrap()));
        }
        let others: &[&[&str]] = &[
            &[],
            &["null"],
            &["*"],
            &["https://agents.example"],
            &["http://localhost.evil.example"],
            &["http://localhost:3000", "http://localhost:3001"],
            &["http://\u{fc}"],
        ];
        for origins in others {
            assert_eq!(found(origins), None, "{origins:?}");
        }
    }
}
