//! Certificates of the configuration: further authorities (`ca_file`) and a client certificate (`client_certificate_file`).
//!
//! In: the files, in PEM. Out: an HTTP client that uses them, or an error that names the file and what it lacks. It must never print the
//! content of a file, nor trust less than the system does.

use std::path::Path;
use std::time::SystemTime;

use reqwest::{Certificate, ClientBuilder, Identity};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;

use crate::config::{TlsFiles, read_regular_file};

/// Versions of the files: a client is used until one of them changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TlsVersions([Option<SystemTime>; 2]);

impl TlsVersions {
    /// The versions of these files now.
    pub(super) fn of(files: &TlsFiles) -> Self {
        let version = |path: &Option<_>| {
            let path: &Path = path.as_ref().map(std::path::PathBuf::as_path)?;
            std::fs::metadata(path).and_then(|metadata| metadata.modified()).ok()
        };
        Self([version(&files.ca_file), version(&files.client_certificate_file)])
    }
}

/// Adds the certificates of these files.
pub(super) fn with_files(mut builder: ClientBuilder, files: &TlsFiles) -> Result<ClientBuilder, String> {
    if let Some(path) = &files.ca_file {
        let problem = |what: String| format!("ca_file {} {what}", path.display());
        let text = read_regular_file(path).map_err(|error| problem(format!("cannot be read: {error}")))?;
        builder = builder.tls_certs_merge(authorities(&text).map_err(problem)?);
    }
    if let Some(path) = &files.client_certificate_file {
        let problem = |what: String| format!("client_certificate_file {} {what}", path.display());
        let text = read_regular_file(path).map_err(|error| problem(format!("cannot be read: {error}")))?;
        builder = builder.identity(identity(&text).map_err(problem)?);
    }
    Ok(builder)
}

/// Reads these files without connecting to anything.
///
/// Errors: one cannot be read, or lacks what it must contain.
pub(crate) fn check_certificates(files: &TlsFiles) -> Result<(), String> {
    super::http::install_tls_provider();
    with_files(ClientBuilder::new(), files).map(drop)
}

/// The certificates of a file of authorities.
fn authorities(text: &str) -> Result<Vec<Certificate>, String> {
    let mut store = rustls::RootCertStore::empty();
    let mut certificates = Vec::new();
    for (place, der) in CertificateDer::pem_slice_iter(text.as_bytes()).enumerate() {
        let unusable = || format!("contains an invalid certificate, number {}", place + 1);
        let der = der.map_err(|_| unusable())?;
        store.add(der.clone()).map_err(|_| unusable())?;
        certificates.push(Certificate::from_der(&der).map_err(|_| unusable())?);
    }
    if certificates.is_empty() {
        return Err("contains no certificate: it needs a part `-----BEGIN CERTIFICATE-----`".to_owned());
    }
    Ok(certificates)
}

/// The certificate of this program and its private key.
fn identity(text: &str) -> Result<Identity, String> {
    if !text.contains("-----BEGIN CERTIFICATE-----") {
        return Err("contains no certificate: it needs a part `-----BEGIN CERTIFICATE-----`".to_owned());
    }
    if text.contains("-----BEGIN ENCRYPTED PRIVATE KEY-----") || text.contains("Proc-Type: 4,ENCRYPTED") {
        return Err("contains a private key with a password: write it without one (openssl pkey)".to_owned());
    }
    if !text.contains("PRIVATE KEY-----") {
        return Err(
            "contains no private key: it needs a part `-----BEGIN PRIVATE KEY-----` after the certificate".to_owned()
        );
    }
    let unreadable = || "contains a certificate or private key that cannot be read".to_owned();
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text.as_bytes()).collect();
    let key = PrivateKeyDer::from_pem_slice(text.as_bytes());
    let (Ok(chain), Ok(key)) = (chain, key) else { return Err(unreadable()) };
    // The client would refuse them too, without the name of the file.
    CertifiedKey::from_der(chain, key, &rustls::crypto::ring::default_provider()).map_err(|error| match error {
        rustls::Error::InconsistentKeys(_) => {
            "contains a private key that is not that of its first certificate".to_owned()
        }
        error => format!("contains a certificate (of X.509 version 3) or private key that cannot be used: {error}"),
    })?;
    Identity::from_pem(text.as_bytes()).map_err(|_| unreadable())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_lacks_something_is_described() {
        let cut = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";
        assert!(authorities("").unwrap_err().contains("contains no certificate"));
        assert!(authorities(cut).unwrap_err().contains("invalid certificate, number 1"));
        let key = |kind: &str| format!("{cut}-----BEGIN {kind}-----\nMIIB\n-----END {kind}-----\n");
        let cases = [
            (String::new(), "contains no certificate"),
            (cut.to_owned(), "contains no private key"),
            (key("ENCRYPTED PRIVATE KEY"), "with a password"),
        ];
        for (text, words) in cases {
            let problem = identity(&text).map(drop).unwrap_err();
            assert!(problem.contains(words), "{problem}");
        }
    }
}
