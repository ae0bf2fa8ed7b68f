//! Keys and cookies of one server: requests are sealed, responses are verified.

use super::agreed::Unauthentic;
use rusty_time_nts::aead::NtsKeys;
use rusty_time_nts::ef::{NONCE_LEN, NtsError, UNIQUE_ID_LEN, protect_request, verify_response};
use wirestamp::{Error, ErrorKind};

/// So many cookies are kept, each for one request; the server sends a new one for each that it gets (RFC 8915 §5.7).
const COOKIES: usize = 8;

pub(crate) struct Association {
    keys: NtsKeys,
    cookies: Vec<Vec<u8>>,
    /// Of the newest request.
    unique: [u8; UNIQUE_ID_LEN],
}

impl Association {
    pub(super) fn new(keys: NtsKeys, mut cookies: Vec<Vec<u8>>) -> Self {
        cookies.truncate(COOKIES);
        Self {
            keys,
            cookies,
            unique: [0; UNIQUE_ID_LEN],
        }
    }

    /// Whether another request can be authenticated.
    pub(crate) fn has_cookie(&self) -> bool {
        !self.cookies.is_empty()
    }

    /// Authenticates a request, at the price of a cookie.
    pub(crate) fn protect(&mut self, request: &[u8; 48]) -> Result<Vec<u8>, Error> {
        let failed = |cause: String| Error::new(ErrorKind::Io, "authenticate", "a request", cause);
        let none = "no cookie is left: the server answered too seldom";
        let cookie = self.cookies.pop().ok_or_else(|| failed(none.to_owned()))?;
        let mut nonce = [0; NONCE_LEN];
        for bytes in [&mut self.unique[..], &mut nonce[..]] {
            getrandom::fill(bytes).map_err(|error| failed(error.to_string()))?;
        }
        let missing = COOKIES - 1 - self.cookies.len();
        protect_request(
            request,
            &self.unique,
            &cookie,
            missing,
            &self.keys.c2s,
            &nonce,
        )
        .map_err(|error| failed(error.to_string()))
    }

    /// Whether the server made this packet, in answer to the newest request. Only its first 48 octets are certain to be
    /// authentic then.
    pub(crate) fn verify(&mut self, packet: &[u8]) -> Result<(), Unauthentic> {
        let verified = verify_response(packet, &self.keys.s2c, &self.unique);
        let verified = verified.map_err(|error| match error {
            NtsError::Nak => Unauthentic::Refused,
            _ => Unauthentic::Forged,
        })?;
        let room = COOKIES - self.cookies.len();
        self.cookies
            .extend(verified.new_cookies.into_iter().take(room));
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use rusty_time_nts::aead;
    use rusty_time_nts::ef::{field_type, fields, write_authenticator, write_field};

    pub(crate) fn association(cookies: usize) -> Association {
        let keys = NtsKeys {
            c2s: [1; 32],
            s2c: [2; 32],
        };
        Association::new(keys, vec![vec![7; 100]; cookies])
    }

    /// What a server answers: its header, the request's identifier, and new cookies that nobody else can read.
    pub(crate) fn answer(request: &[u8], key: &[u8; 32], cookies: usize) -> Vec<u8> {
        let unique = fields(request)
            .find(|field| field.field_type == field_type::UNIQUE_IDENTIFIER)
            .expect("an identifier");
        let mut packet = vec![0x24; 48];
        write_field(&mut packet, field_type::UNIQUE_IDENTIFIER, unique.body);
        let mut inside = Vec::new();
        for _ in 0..cookies {
            write_field(&mut inside, field_type::NTS_COOKIE, &[9; 100]);
        }
        let sealed = aead::seal(key, &[&packet, &[3; 16]], &inside).expect("sealed");
        write_authenticator(&mut packet, &[3; 16], &sealed);
        packet
    }

    #[test]
    fn a_request_costs_a_cookie_and_asks_for_those_that_are_missing() {
        let mut association = association(8);
        for placeholders in [0, 1, 2] {
            let request = association.protect(&[0x23; 48]).expect("cookies");
            let count = |kind| {
                fields(&request)
                    .filter(|field| field.field_type == kind)
                    .count()
            };
            assert_eq!(count(field_type::NTS_COOKIE), 1);
            assert_eq!(count(field_type::NTS_COOKIE_PLACEHOLDER), placeholders);
        }
        let request = association.protect(&[0x23; 48]).expect("cookies");
        // more than were asked for
        let packet = answer(&request, &[2; 32], 20);
        assert_eq!(association.verify(&packet), Ok(()));
        assert_eq!(association.cookies.len(), 8);
        assert_eq!(association.cookies[7], [9; 100]);
    }

    #[test]
    fn without_a_cookie_nothing_is_sent() {
        let mut association = association(1);
        assert!(association.protect(&[0x23; 48]).is_ok());
        let error = association.protect(&[0x23; 48]).expect_err("no cookie");
        assert!(error.to_string().contains("no cookie is left"), "{error}");
    }

    #[test]
    fn changed_and_foreign_responses_are_no_answer() {
        let mut association = association(8);
        let earlier = association.protect(&[0x23; 48]).expect("cookies");
        let earlier = answer(&earlier, &[2; 32], 1);
        let request = association.protect(&[0x23; 48]).expect("cookies");
        let good = answer(&request, &[2; 32], 1);
        for place in 0..good.len() {
            let mut changed = good.clone();
            changed[place] ^= 1;
            assert!(association.verify(&changed).is_err(), "octet {place}");
        }
        for length in 0..good.len() {
            assert!(
                association.verify(&good[..length]).is_err(),
                "{length} octets"
            );
        }
        let wrong_key = answer(&request, &[1; 32], 1);
        for packet in [&wrong_key, &earlier, &request] {
            assert_eq!(association.verify(packet), Err(Unauthentic::Forged));
        }
        assert_eq!(
            association.cookies.len(),
            6,
            "none of them brought a cookie"
        );
        assert_eq!(association.verify(&good), Ok(()));
    }

    #[test]
    fn a_server_that_forgot_the_keys_says_so() {
        let mut association = association(8);
        let request = association.protect(&[0x23; 48]).expect("cookies");
        let whole = answer(&request, &[2; 32], 0);
        // header and identifier, nothing else
        assert_eq!(
            association.verify(&whole[..48 + 36]),
            Err(Unauthentic::Refused)
        );
    }
}
