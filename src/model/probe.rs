//! Looking for servers on this machine: a bare connection to a loopback port, nothing is sent.

use std::time::Duration;

use reqwest::Url;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Host and port of an address, when the host is this machine's loopback.
fn loopback(base_url: &str) -> Option<(String, u16)> {
    let url = Url::parse(base_url).ok()?;
    let host = url.host_str()?;
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let is_loopback = bare == "localhost" || bare.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback());
    is_loopback.then_some((bare.to_owned(), url.port_or_known_default()?))
}

/// Does this address lie on this machine's loopback?
pub fn is_loopback(base_url: &str) -> bool {
    loopback(base_url).is_some()
}

/// Does something listen at this loopback address? Never asks any other address.
pub async fn listens(base_url: &str, wait: Duration) -> bool {
    let Some((host, port)) = loopback(base_url) else { return false };
    matches!(timeout(wait, TcpStream::connect((host.as_str(), port))).await, Ok(Ok(_)))
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
