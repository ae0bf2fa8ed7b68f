//! TLS of the server: rustls with ring, only TLS 1.3. Connections keep the certificate that they began with.

use std::path::Path;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ServerConfig, crypto::ring, version::TLS13};
use tokio_rustls::server::TlsStream;
use wirestamp::{Error, ErrorKind, Result};

/// The longest file that is read: a certificate and all between it and its authority.
const LONGEST: u64 = 1 << 20;

/// A certificate and its key.
#[derive(Clone)]
pub(crate) struct Tls(TlsAcceptor);

/// Omits the key, which must not appear in logs.
impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tls")
    }
}

impl Tls {
    /// Reads PEM files.
    pub(crate) fn read(certificate: &Path, key: &Path) -> Result<Self> {
        let chain = CertificateDer::pem_slice_iter(&read(certificate)?)
            .collect::<std::result::Result<Vec<_>, _>>()
            .map_err(|error| refused(certificate, error.to_string()))?;
        if chain.is_empty() {
            return Err(refused(certificate, "it has no certificate".into()));
        }
        let private = PrivateKeyDer::from_pem_slice(&read(key)?)
            .map_err(|error| refused(key, error.to_string()))?;
        let provider = Arc::new(ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13])
            .and_then(|builder| {
                builder
                    .with_no_client_auth()
                    .with_single_cert(chain, private)
            })
            .map_err(|error| refused(certificate, error.to_string()))?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self(TlsAcceptor::from(Arc::new(config))))
    }

    /// Does the handshake. The caller limits its time.
    pub(crate) async fn accept<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        stream: S,
    ) -> std::io::Result<TlsStream<S>> {
        self.0.accept(stream).await
    }
}

fn read(path: &Path) -> Result<Vec<u8>> {
    let octets = wirestamp::file::read_octets(path, LONGEST);
    octets.map_err(|error| refused(path, error.to_string()))
}

fn refused(path: &Path, cause: String) -> Error {
    Error::new(
        ErrorKind::InvalidInput,
        "read the files for TLS",
        path.display().to_string(),
        cause,
    )
    .with_remedy("name a certificate and its own key, both as PEM files that the monitor may read")
}
