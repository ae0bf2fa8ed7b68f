//! The key exchange (RFC 8915 §4): TLS 1.3, records both ways, and keys that both ends derive from the connection.

use super::agreed::Agreed;
use super::association::Association;
use super::deadline::Timed;
use super::records::Answer;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use rusty_time_nts::aead::NtsKeys;
use rusty_time_nts::records::{record_type, write_record};
use rusty_time_nts::{AEAD_AES_SIV_CMAC_256, ALPN, NEXT_PROTO_NTPV4};
use std::io::{ErrorKind as ErrorOfSystem, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use wirestamp::{Error, ErrorKind, file};

const EXPORTER_LABEL: &[u8] = b"EXPORTER-network-time-security";
/// The longest file with authorities that is read.
const LONGEST_AUTHORITIES: u64 = 16 << 20;

/// The certificate authorities that are trusted.
pub(crate) struct Trust(Arc<ClientConfig>);

impl Trust {
    /// The authorities of a file (PEM), or the system's.
    pub(crate) fn new(authorities: Option<&Path>) -> Result<Self, Error> {
        let shown = authorities.map_or_else(
            || "the system's certificates".to_owned(),
            |path| path.display().to_string(),
        );
        let failed = |cause: String| {
            let error = Error::new(ErrorKind::InvalidInput, "read", shown.as_str(), cause);
            error.with_remedy("name a file with certificates in PEM form: --nts-ca FILE, or nts_ca")
        };
        let mut roots = RootCertStore::empty();
        let mut found = Vec::new();
        match authorities {
            Some(path) => {
                let octets = file::read_octets(path, LONGEST_AUTHORITIES)
                    .map_err(|error| failed(error.to_string()))?;
                for certificate in CertificateDer::pem_slice_iter(&octets) {
                    found.push(certificate.map_err(|error| failed(error.to_string()))?);
                }
            }
            None => found = rustls_native_certs::load_native_certs().certs,
        }
        let (usable, _) = roots.add_parsable_certificates(found);
        if usable == 0 {
            return Err(failed("there is no usable certificate".to_owned()));
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(|error| failed(error.to_string()))?;
        let mut config = builder.with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols = vec![ALPN.to_vec()];
        Ok(Self(Arc::new(config)))
    }

    /// Asks the server of this name for keys and cookies, within the given time.
    pub(crate) fn exchange(
        &self,
        name: &str,
        address: SocketAddr,
        limit: Duration,
    ) -> Result<Agreed<Association>, String> {
        let end = Instant::now() + limit;
        let told = |error: std::io::Error| match error.kind() {
            ErrorOfSystem::TimedOut | ErrorOfSystem::WouldBlock => {
                "the key exchange took too long".to_owned()
            }
            _ => format!("the key exchange failed: {error}"),
        };
        let name = ServerName::try_from(name.to_owned())
            .map_err(|_| format!("no certificate can be for '{name}'"))?;
        let connection = ClientConnection::new(Arc::clone(&self.0), name)
            .map_err(|error| format!("the key exchange failed: {error}"))?;
        let stream = TcpStream::connect_timeout(&address, limit).map_err(told)?;
        let mut stream = StreamOwned::new(connection, Timed::new(stream, end));
        let mut asked = Vec::new();
        let ours = [
            (
                record_type::NEXT_PROTOCOL,
                &NEXT_PROTO_NTPV4.to_be_bytes()[..],
            ),
            (
                record_type::AEAD_ALGORITHM,
                &AEAD_AES_SIV_CMAC_256.to_be_bytes()[..],
            ),
            (record_type::END_OF_MESSAGE, &[]),
        ];
        for (kind, body) in ours {
            write_record(&mut asked, true, kind, body);
        }
        stream.write_all(&asked).map_err(told)?;
        let mut answer = Vec::new();
        let answered = loop {
            if let Some(answered) = Answer::read(&answer)? {
                break answered;
            }
            let mut more = [0; 2_048];
            match stream.read(&mut more).map_err(told)? {
                0 => return Err("the key exchange ended too soon".to_owned()),
                length => answer.extend_from_slice(&more[..length]),
            }
        };
        if stream.conn.alpn_protocol() != Some(ALPN) {
            return Err("the server of the key exchange does not speak NTS".to_owned());
        }
        let key = |direction: u8| {
            let [protocol, algorithm] =
                [NEXT_PROTO_NTPV4, AEAD_AES_SIV_CMAC_256].map(u16::to_be_bytes);
            let context = [
                protocol[0],
                protocol[1],
                algorithm[0],
                algorithm[1],
                direction,
            ];
            let exported =
                stream
                    .conn
                    .export_keying_material([0; 32], EXPORTER_LABEL, Some(&context));
            exported.map_err(|error| format!("the key exchange failed: {error}"))
        };
        let keys = NtsKeys {
            c2s: key(0)?,
            s2c: key(1)?,
        };
        Ok(Agreed {
            association: Association::new(keys, answered.cookies),
            server: answered.server,
            port: answered.port,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A self-signed certificate. Nobody has its key.
    const CERTIFICATE: &[u8] = b"\
-----BEGIN CERTIFICATE-----\n\
MIIBcDCCARegAwIBAgIUZ4jb9+LJTBLFtad3jnf4d79dC3QwCgYIKoZIzj0EAwIw\n\
DTELMAkGA1UEAwwCY2EwIBcNMjYxMTI1MTkzMTExWhgPMjEyNjExMDExOTMxMTFa\n\
MA0xCzAJBgNVBAMMAmNhMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAElIJTFfnz\n\
bZkAg3hRL78nmtxmeE6HZjcXzywy5rFtN+mgwq8BqVdV8u/Si5q43dvh4tjYht0J\n\
LKZXiYqpMnYNqKNTMFEwHQYDVR0OBBYEFMysp9FTdt0/5/k8GTSEV1ltQmFeMB8G\n\
A1UdIwQYMBaAFMysp9FTdt0/5/k8GTSEV1ltQmFeMA8GA1UdEwEB/wQFMAMBAf8w\n\
CgYIKoZIzj0EAwIDRwAwRAIgYuLqyaD84T3qAUOibzMzKyqSnxFq9SBv54Lp7S/F\n\
XjUCIB2HLPtFtS3UyT0feiu6OV6OdFEmU4/bQxpOd87YDyro\n\
-----END CERTIFICATE-----\n\
";

    /// A record that is announced and comes an octet at a time.
    #[test]
    fn a_server_that_sends_an_octet_now_and_then_is_not_waited_for() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("bound");
        let address = listener.local_addr().expect("bound");
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("it connects");
            let mut sent = stream.write_all(&[0x16, 3, 3, 0x40, 0]);
            for _ in 0..500 {
                if sent.is_err() {
                    return;
                }
                std::thread::sleep(Duration::from_millis(20));
                sent = stream.write_all(&[0]);
            }
            panic!("it is waited for");
        });
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), CERTIFICATE).expect("written");
        let trust = Trust::new(Some(file.path())).expect("an authority");
        let limit = Duration::from_millis(200);
        let Err(error) = trust.exchange("localhost", address, limit) else {
            panic!("nothing was agreed");
        };
        assert_eq!(error, "the key exchange took too long");
        server.join().expect("the connection is closed");
    }

    /// Tools write names between the blocks, in whatever encoding they have.
    #[test]
    fn text_beside_the_authorities_may_be_of_any_encoding() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let text = [b"# O = M\xfcller\n", CERTIFICATE].concat();
        std::fs::write(file.path(), text).expect("written");
        assert!(Trust::new(Some(file.path())).is_ok());
    }
}
