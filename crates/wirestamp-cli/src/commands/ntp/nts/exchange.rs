//! The key exchange (RFC 8915 §4): TLS 1.3, records both ways, and keys that both ends derive from the connection.

use super::{Agreed, Association};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use rusty_time_nts::aead::NtsKeys;
use rusty_time_nts::records::{record_type, records, write_record};
use rusty_time_nts::{AEAD_AES_SIV_CMAC_256, ALPN, NEXT_PROTO_NTPV4};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use wirestamp::{Error, ErrorKind, file};

const EXPORTER_LABEL: &[u8] = b"EXPORTER-network-time-security";
/// The longest file with authorities that is read.
const LONGEST_AUTHORITIES: u64 = 16 << 20;
/// A longer response is refused. Eight cookies take about a thousand octets.
const LONGEST: usize = 16_384;
/// A cookie comes back in each request, which must fit into a packet.
const LONGEST_COOKIE: usize = 512;

/// Whose certificates are believed.
pub(in crate::commands::ntp) struct Trust(Arc<ClientConfig>);

impl Trust {
    /// The authorities of a file (PEM), or the system's.
    pub(in crate::commands::ntp) fn new(authorities: Option<&Path>) -> Result<Self, Error> {
        let shown = authorities.map_or_else(
            || "the system's certificates".to_owned(),
            |path| path.display().to_string(),
        );
        let failed = |cause: String| {
            let error = Error::new(ErrorKind::InvalidInput, "read", shown.as_str(), cause);
            error.with_remedy("name a file with certificates in PEM form: --nts-ca FILE")
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

    /// Asks the server of that name for keys and cookies, in so much time.
    pub(in crate::commands::ntp) fn exchange(
        &self,
        name: &str,
        address: SocketAddr,
        limit: Duration,
    ) -> Result<Agreed, String> {
        let end = Instant::now() + limit;
        let told = |error: std::io::Error| format!("the key exchange failed: {error}");
        let name = ServerName::try_from(name.to_owned())
            .map_err(|_| format!("no certificate can be for '{name}'"))?;
        let connection = ClientConnection::new(Arc::clone(&self.0), name)
            .map_err(|error| format!("the key exchange failed: {error}"))?;
        let stream = TcpStream::connect_timeout(&address, limit).map_err(told)?;
        let mut stream = StreamOwned::new(connection, stream);
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
        wait_until(&stream, end)?;
        stream.write_all(&asked).map_err(told)?;
        let mut answer = Vec::new();
        let answered = loop {
            if let Some(answered) = Answer::read(&answer)? {
                break answered;
            }
            wait_until(&stream, end)?;
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

/// Bounds the next read and write.
fn wait_until(
    stream: &StreamOwned<ClientConnection, TcpStream>,
    end: Instant,
) -> Result<(), String> {
    let left = end.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err("the key exchange took too long".to_owned());
    }
    let set = stream.sock.set_read_timeout(Some(left));
    set.and_then(|()| stream.sock.set_write_timeout(Some(left)))
        .map_err(|error| error.to_string())
}

/// The server's records.
#[derive(Debug, Default, PartialEq, Eq)]
struct Answer {
    cookies: Vec<Vec<u8>>,
    server: Option<String>,
    port: Option<u16>,
}

impl Answer {
    /// `None` until the end of the message has come.
    fn read(bytes: &[u8]) -> Result<Option<Self>, String> {
        let refused = |why: &str| Err(format!("the key exchange failed: {why}"));
        if bytes.len() > LONGEST {
            return refused("the response is too long");
        }
        let (mut answer, mut protocol, mut algorithm) = (Self::default(), None, None);
        for record in records(bytes) {
            // the rest is still to come
            let Ok(record) = record else { return Ok(None) };
            let number = || {
                <[u8; 2]>::try_from(record.body)
                    .ok()
                    .map(u16::from_be_bytes)
            };
            match record.record_type {
                record_type::NEXT_PROTOCOL => protocol = number(),
                record_type::AEAD_ALGORITHM => algorithm = number(),
                record_type::ERROR => {
                    let code = number().unwrap_or(u16::MAX);
                    return refused(&format!("the server answers with error {code}"));
                }
                record_type::NEW_COOKIE if (1..=LONGEST_COOKIE).contains(&record.body.len()) => {
                    answer.cookies.push(record.body.to_vec());
                }
                record_type::SERVER_NEGOTIATION => match std::str::from_utf8(record.body) {
                    Ok(name) if name.is_ascii() && !name.is_empty() => {
                        answer.server = Some(name.to_owned());
                    }
                    _ => return refused("the name of the NTP server cannot be read"),
                },
                record_type::PORT_NEGOTIATION => answer.port = number().filter(|port| *port > 0),
                record_type::END_OF_MESSAGE => {
                    return if protocol != Some(NEXT_PROTO_NTPV4) {
                        refused("the server has no NTPv4")
                    } else if algorithm != Some(AEAD_AES_SIV_CMAC_256) {
                        refused("the server has no AES-SIV-CMAC-256")
                    } else if answer.cookies.is_empty() {
                        refused("the server gave no cookie")
                    } else {
                        Ok(Some(answer))
                    };
                }
                _ if record.critical => return refused("the server wants what is not known here"),
                _ => {}
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(parts: &[(u16, &[u8])]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (kind, body) in parts {
            write_record(&mut bytes, true, *kind, body);
        }
        write_record(&mut bytes, true, record_type::END_OF_MESSAGE, &[]);
        bytes
    }

    const PROTOCOL: (u16, &[u8]) = (record_type::NEXT_PROTOCOL, &[0, 0]);
    const ALGORITHM: (u16, &[u8]) = (record_type::AEAD_ALGORITHM, &[0, 15]);
    const COOKIE: (u16, &[u8]) = (record_type::NEW_COOKIE, &[5; 100]);

    #[test]
    fn an_answer_is_read_when_it_is_whole() {
        let server = (record_type::SERVER_NEGOTIATION, &b"ntp.example.org"[..]);
        let port = (record_type::PORT_NEGOTIATION, &[4, 99][..]);
        let bytes = message(&[PROTOCOL, ALGORITHM, COOKIE, server, COOKIE, port]);
        for length in 0..bytes.len() {
            assert_eq!(Answer::read(&bytes[..length]), Ok(None), "{length}");
        }
        let wanted = Answer {
            cookies: vec![vec![5; 100]; 2],
            server: Some("ntp.example.org".to_owned()),
            port: Some(1_123),
        };
        assert_eq!(Answer::read(&bytes), Ok(Some(wanted)));
    }

    #[test]
    fn answers_that_cannot_be_used_say_why() {
        let refused = |parts: &[(u16, &[u8])], why: &str| {
            let told = Answer::read(&message(parts)).expect_err(why);
            assert!(told.contains(why), "{told}");
        };
        refused(&[ALGORITHM, COOKIE], "no NTPv4");
        refused(&[PROTOCOL, COOKIE], "no AES-SIV-CMAC-256");
        refused(
            &[PROTOCOL, (record_type::AEAD_ALGORITHM, &[0, 17]), COOKIE],
            "no AES-SIV-CMAC-256",
        );
        refused(&[PROTOCOL, ALGORITHM], "no cookie");
        refused(
            &[PROTOCOL, ALGORITHM, (record_type::NEW_COOKIE, &[0; 513])],
            "not known here",
        );
        refused(&[(record_type::ERROR, &[0, 1])], "error 1");
        refused(&[PROTOCOL, ALGORITHM, COOKIE, (77, &[])], "not known here");
        refused(
            &[(record_type::SERVER_NEGOTIATION, &[0xff])],
            "cannot be read",
        );
        assert!(Answer::read(&vec![0x7f; LONGEST + 1]).is_err());
    }

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

    /// Tools write names between the blocks, in whatever encoding they have.
    #[test]
    fn text_beside_the_authorities_may_be_of_any_encoding() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let text = [b"# O = M\xfcller\n", CERTIFICATE].concat();
        std::fs::write(file.path(), text).expect("written");
        assert!(Trust::new(Some(file.path())).is_ok());
    }
}
