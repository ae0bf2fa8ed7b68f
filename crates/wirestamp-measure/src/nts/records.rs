//! Parses the records that a key exchange server answers.

use rusty_time_nts::records::{record_type, records};
use rusty_time_nts::{AEAD_AES_SIV_CMAC_256, NEXT_PROTO_NTPV4};

/// The longest accepted response. Eight cookies take about a thousand octets.
const LONGEST: usize = 16_384;
/// The longest accepted cookie: it is sent in a request, which must fit into a packet.
const LONGEST_COOKIE: usize = 512;

/// The server's records.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) cookies: Vec<Vec<u8>>,
    pub(super) server: Option<String>,
    pub(super) port: Option<u16>,
}

impl Answer {
    /// `None` until the end of the message has come.
    pub(super) fn read(bytes: &[u8]) -> Result<Option<Self>, String> {
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
    use rusty_time_nts::records::write_record;

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
}
