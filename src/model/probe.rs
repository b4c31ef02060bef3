//! Looking for servers on this machine: a bare connection to a loopback port, nothing is sent.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use reqwest::Url;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::http::is_loopback as is_loopback_url;

/// Where to connect for an address on this machine's loopback. Names are not looked up.
fn loopback(base_url: &str) -> Option<(IpAddr, u16)> {
    let url = Url::parse(base_url).ok().filter(is_loopback_url)?;
    let host = url.host_str()?.trim_matches(['[', ']']);
    Some((host.parse().unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)), url.port_or_known_default()?))
}

/// Does this address lie on this machine's loopback?
pub fn is_loopback(base_url: &str) -> bool {
    loopback(base_url).is_some()
}

/// Does something listen at this loopback address? Never asks any other address.
pub async fn listens(base_url: &str, wait: Duration) -> bool {
    let Some((host, port)) = loopback(base_url) else { return false };
    matches!(timeout(wait, TcpStream::connect((host, port))).await, Ok(Ok(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_addresses_are_asked() {
        for here in ["http://127.0.0.1:8080/v1", "http://localhost:11434", "http://[::1]:1/v1"] {
            assert!(is_loopback(here), "{here}");
        }
        for elsewhere in ["https://api.example.com/v1", "http://10.0.0.1/v1", "http://127.0.0.1.example.com", "no url"]
        {
            assert!(!is_loopback(elsewhere), "{elsewhere}");
        }
    }

    #[tokio::test]
    async fn a_listening_port_is_found_and_a_closed_one_is_not() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        assert!(listens(&url, Duration::from_secs(5)).await);
        drop(listener);
        assert!(!listens(&url, Duration::from_secs(5)).await);
    }
}
