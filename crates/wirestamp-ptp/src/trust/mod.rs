//! The trust in other clocks: pinned timeTransmitters and addresses, rate limits, flood protection,
//! and the comparison of several configured sources.

mod gate;
mod judge;
mod known;
mod limit;
mod thinning;

pub(crate) use gate::{Gate, Standing};
pub use judge::Agreement;
pub(crate) use judge::{Judge, Measured};
pub(crate) use known::{Known, MOST_KNOWN, Sender, pinned};
#[cfg(test)]
pub(crate) use thinning::CLASSES;
#[cfg(all(target_os = "linux", not(wirestamp_unsupported)))]
pub(crate) use thinning::HEADER;
pub(crate) use thinning::{OTHER, Thinned, Thinning, class_of, source_of};

use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use wirestamp::{Error, ErrorKind, Result};

/// The most sources that can be compared.
pub(crate) const MOST_SOURCES: usize = 8;
const OPERATION: &str = "read the PTP configuration";

/// The timeTransmitters that a clock listens to. PTP messages carry no proof of their sender, so anyone
/// on the network who knows a pinned identity and address can forge both.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Trust {
    /// Pinned timeTransmitters: clock identities, or port identities as `ptp` prints them. If
    /// there are any, Announce, Sync, Follow_Up and Delay_Resp messages of others are ignored.
    /// Two or more are compared with each other while each of them sends Sync messages.
    #[cfg_attr(feature = "schema", schemars(extend("examples" = [["001122.fffe.334455-1"]])))]
    pub timetransmitters: Vec<String>,
    /// Peer to peer: identities of neighbours that may answer delay requests without being a pinned timeTransmitter.
    pub neighbours: Vec<String>,
    /// Pinned source addresses. If there are any, Announce, Sync, Follow_Up and Delay_Resp messages, and
    /// answers to peer delay requests, are ignored if they come from elsewhere.
    #[cfg_attr(feature = "schema", schemars(extend("examples" = [["192.0.2.1"]])))]
    pub addresses: Vec<IpAddr>,
    /// Further domains that are measured and compared with the followed one.
    pub compare_domains: Vec<u8>,
    /// The allowed difference of two timeTransmitters beyond their error bounds, in nanoseconds: the errors of their
    /// own times, which the bounds do not include.
    pub tolerance_ns: u32,
}

impl Default for Trust {
    fn default() -> Self {
        Self {
            timetransmitters: Vec::new(),
            neighbours: Vec::new(),
            addresses: Vec::new(),
            compare_domains: Vec::new(),
            tolerance_ns: 1_000,
        }
    }
}

/// A pinned clock, or one port of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pin {
    pub(crate) clock: [u8; 8],
    pub(crate) port: Option<u16>,
}

impl Trust {
    /// Checks the number of sources that are compared.
    pub(crate) fn check(&self, domain: u8) -> Result<()> {
        let pins = self.pins()?;
        self.neighbour_pins()?;
        if let Some(twice) = self.compare_domains.iter().find(|other| **other == domain) {
            let cause = format!("{twice} is the domain that is followed");
            return Err(Error::new(
                ErrorKind::InvalidInput,
                OPERATION,
                "trust.compare_domains",
                cause,
            )
            .with_remedy("name the other domains only"));
        }
        let sources = pins.len().max(1) * (1 + self.compare_domains.len());
        if sources > MOST_SOURCES {
            let cause =
                format!("{sources} sources (timeTransmitters times domains) are to be compared");
            return Err(
                Error::new(ErrorKind::InvalidInput, OPERATION, "trust", cause)
                    .with_remedy(format!("configure at most {MOST_SOURCES}")),
            );
        }
        Ok(())
    }

    pub(crate) fn pins(&self) -> Result<Vec<Pin>> {
        parsed(&self.timetransmitters, "trust.timetransmitters")
    }

    pub(crate) fn neighbour_pins(&self) -> Result<Vec<Pin>> {
        parsed(&self.neighbours, "trust.neighbours")
    }

    /// Returns whether more than one source is configured.
    pub(crate) fn compares(&self) -> bool {
        self.timetransmitters.len() > 1 || !self.compare_domains.is_empty()
    }
}

fn parsed(texts: &[String], field: &'static str) -> Result<Vec<Pin>> {
    let refused = |text: &String| {
        Error::new(ErrorKind::InvalidInput, OPERATION, field, format!("{text} is no clock or port identity"))
            .with_remedy("write 16 hexadecimal digits, for a port followed by - and its number: 001122.fffe.334455-1")
    };
    texts
        .iter()
        .map(|text| Pin::parse(text).ok_or_else(|| refused(text)))
        .collect()
}

impl Pin {
    fn parse(text: &str) -> Option<Self> {
        if let Some(clock) = clock_identity(text) {
            return Some(Self { clock, port: None });
        }
        let (clock, port) = text.rsplit_once('-')?;
        Some(Self {
            clock: clock_identity(clock)?,
            port: Some(port.parse().ok()?),
        })
    }

    pub(crate) fn is(&self, source: crate::message::PortIdentity) -> bool {
        self.clock == source.clock && self.port.is_none_or(|port| port == source.port)
    }
}

/// Parses 16 hexadecimal digits with arbitrary separators.
pub(crate) fn clock_identity(text: &str) -> Option<[u8; 8]> {
    let digits: String = text
        .chars()
        .filter(|letter| !matches!(letter, '.' | ':' | '-'))
        .collect();
    let all_hexadecimal =
        digits.len() == 16 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    let number = all_hexadecimal.then(|| u64::from_str_radix(&digits, 16).ok())?;
    number.map(u64::to_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::PortIdentity;

    #[test]
    fn identities_are_read_as_they_are_printed() {
        let identity = PortIdentity {
            clock: [0, 0x11, 0x22, 0xff, 0xfe, 0x33, 0x44, 0x55],
            port: 7,
        };
        for (text, port) in [
            (identity.to_string(), Some(7)),
            ("001122.fffe.334455".into(), None),
            ("00:11:22:FF:FE:33:44:55".into(), None),
            ("00-11-22-ff-fe-33-44-55".into(), None),
        ] {
            let pin = Pin::parse(&text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(
                pin,
                Pin {
                    clock: identity.clock,
                    port
                }
            );
            assert!(pin.is(identity));
            assert_eq!(
                pin.is(PortIdentity {
                    port: 8,
                    ..identity
                }),
                port.is_none()
            );
        }
        for wrong in [
            "",
            "001122.fffe.33445",
            "001122.fffe.33445g",
            "001122.fffe.334455-x",
            "+01122fffe334455",
        ] {
            assert_eq!(Pin::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_followed_domain_and_too_many_sources_are_refused() {
        let trust = Trust {
            compare_domains: vec![3],
            ..Trust::default()
        };
        assert!(trust.check(0).is_ok() && trust.check(3).is_err());
        let many = Trust {
            compare_domains: (1..=8).collect(),
            ..Trust::default()
        };
        assert!(
            many.check(0)
                .expect_err("nine")
                .to_string()
                .contains("9 sources")
        );
    }
}
