//! The key of an authenticated session, and its tags: the first 128 bits of HMAC-SHA-256.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::fmt;

/// The length of a tag in packets, in octets (RFC 8762, section 4.4).
pub(crate) const TAG: usize = 16;
/// The shortest key in octets: shorter ones can be guessed by exhaustive search.
const SHORTEST: usize = 16;
const LONGEST: usize = 1024;

/// A secret that both ends share. `Debug` does not show it.
#[derive(Clone)]
pub struct Key(Hmac<Sha256>);

/// The reason why a text is not a key. It contains nothing of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyInvalid {
    /// It is not an even number of hexadecimal digits.
    NotHexadecimal,
    /// It has fewer than 16 or more than 1024 octets.
    Length,
}

impl Key {
    /// Parses a key of 16 to 1024 octets in hexadecimal digits, the format of key files.
    /// Surrounding white space is ignored.
    ///
    /// # Errors
    /// [`KeyInvalid`] if the text is not a key.
    pub fn from_hexadecimal(text: &str) -> Result<Self, KeyInvalid> {
        let digits = text.trim().as_bytes();
        if !digits.len().is_multiple_of(2) {
            return Err(KeyInvalid::NotHexadecimal);
        }
        let digit = |octet: u8| {
            char::from(octet)
                .to_digit(16)
                .ok_or(KeyInvalid::NotHexadecimal)
        };
        let mut secret = Vec::with_capacity(digits.len() / 2);
        for pair in digits.chunks_exact(2) {
            secret.push((digit(pair[0])? << 4 | digit(pair[1])?) as u8);
        }
        Self::from_octets(&secret)
    }

    /// Creates a key from 16 to 1024 octets.
    ///
    /// # Errors
    /// [`KeyInvalid::Length`] for fewer or more octets.
    pub fn from_octets(secret: &[u8]) -> Result<Self, KeyInvalid> {
        if !(SHORTEST..=LONGEST).contains(&secret.len()) {
            return Err(KeyInvalid::Length);
        }
        Hmac::new_from_slice(secret)
            .map(Self)
            .map_err(|_| KeyInvalid::Length)
    }

    /// Returns the tag of the concatenated parts.
    pub(crate) fn tag(&self, parts: &[&[u8]]) -> [u8; TAG] {
        let whole = self.over(parts).finalize().into_bytes();
        let mut tag = [0; TAG];
        tag.copy_from_slice(&whole[..TAG]);
        tag
    }

    /// Returns whether `tag` is the tag of the parts, in constant time.
    pub(crate) fn verifies(&self, parts: &[&[u8]], tag: &[u8]) -> bool {
        tag.len() == TAG && self.over(parts).verify_truncated_left(tag).is_ok()
    }

    fn over(&self, parts: &[&[u8]]) -> Hmac<Sha256> {
        let mut mac = self.0.clone();
        for part in parts {
            mac.update(part);
        }
        mac
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(secret)")
    }
}

impl fmt::Display for KeyInvalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotHexadecimal => "the key is not written in pairs of hexadecimal digits",
            Self::Length => {
                "the key does not have 16 to 1024 octets (32 to 2048 hexadecimal digits)"
            }
        })
    }
}

impl std::error::Error for KeyInvalid {}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4231, test case 2, with a key of the minimum length (test case 1 has 20 octets of 0x0b).
    #[test]
    fn tags_are_those_of_rfc_4231() {
        let key = Key::from_hexadecimal(&"0b".repeat(20)).expect("a key");
        let expected = [
            0xb0, 0x34, 0x4c, 0x61, 0xd8, 0xdb, 0x38, 0x53, 0x5c, 0xa8, 0xaf, 0xce, 0xaf, 0x0b,
            0xf1, 0x2b,
        ];
        assert_eq!(key.tag(&[b"Hi ", b"There"]), expected);
        assert!(key.verifies(&[b"Hi There"], &expected));
        assert!(!key.verifies(&[b"Hi there"], &expected));
        assert!(!key.verifies(&[b"Hi There"], &expected[..15]));
        assert!(!key.verifies(&[b"Hi There"], &[]));
    }

    #[test]
    fn a_key_is_never_shown() {
        let key = Key::from_hexadecimal("  00112233445566778899aabbccddeeff\n").expect("a key");
        assert_eq!(format!("{key:?}"), "Key(secret)");
    }

    #[test]
    fn what_is_no_key_is_refused() {
        for text in ["", "00112233445566778899aabbccddee", &"00".repeat(1025)] {
            assert_eq!(Key::from_hexadecimal(text).err(), Some(KeyInvalid::Length));
        }
        for text in [
            "0",
            "zz112233445566778899aabbccddeeff",
            "0x112233445566778899aabbccddeeff",
        ] {
            assert_eq!(
                Key::from_hexadecimal(text).err(),
                Some(KeyInvalid::NotHexadecimal)
            );
        }
    }
}
