//! The record that programs share while they keep a NIC's hardware timestamping on: the
//! configuration before the first of them, and the current one. Backends store it, through
//! [`SharedHolders`](crate::backend::SharedHolders).

use crate::configuration::{HardwareConfiguration, ReceiveFilter};
use alloc::format;
use alloc::string::String;

/// The record that all holders of one NIC share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HolderRecord {
    /// The configuration before the first holder; `None` if the driver could not report it.
    pub previous: Option<HardwareConfiguration>,
    /// The configuration that the driver reports after the last holder's change.
    pub told: HardwareConfiguration,
}

impl HolderRecord {
    /// Returns the record as text, for a file.
    pub fn to_text(&self) -> String {
        let previous = self
            .previous
            .map_or_else(|| String::from("unknown"), text_of);
        format!(
            "wirestamp-holders 1\nprevious {previous}\ntold {}\n",
            text_of(self.told)
        )
    }

    /// Parses a text of [`to_text`](Self::to_text); `None` for any other text.
    pub fn from_text(text: &str) -> Option<Self> {
        let mut lines = text
            .strip_prefix("wirestamp-holders 1\n")?
            .strip_suffix('\n')?
            .split('\n');
        let previous = match lines.next()?.strip_prefix("previous ")? {
            "unknown" => None,
            known => Some(configuration_of(known)?),
        };
        let told = configuration_of(lines.next()?.strip_prefix("told ")?)?;
        lines.next().is_none().then_some(Self { previous, told })
    }
}

fn text_of(configuration: HardwareConfiguration) -> String {
    format!(
        "{} {}",
        if configuration.transmit { "on" } else { "off" },
        configuration.receive.name()
    )
}

fn configuration_of(text: &str) -> Option<HardwareConfiguration> {
    let (transmit, receive) = text.split_once(' ')?;
    let transmit = match transmit {
        "on" => true,
        "off" => false,
        _ => return None,
    };
    let receive = *ReceiveFilter::ALL
        .iter()
        .find(|filter| filter.name() == receive)?;
    Some(HardwareConfiguration { transmit, receive })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_record_survives_as_text_and_nothing_else_is_read() {
        for &receive in ReceiveFilter::ALL {
            for transmit in [false, true] {
                let told = HardwareConfiguration { transmit, receive };
                for previous in [None, Some(HardwareConfiguration::OFF), Some(told)] {
                    let record = HolderRecord { previous, told };
                    assert_eq!(HolderRecord::from_text(&record.to_text()), Some(record));
                }
            }
        }
        let good = HolderRecord {
            previous: None,
            told: HardwareConfiguration::OFF,
        }
        .to_text();
        for bad in [
            "",
            "wirestamp-holders 2\n",
            &good[..good.len() - 1],
            &(good.clone() + "x\n"),
            &good.replace("off", "?"),
        ] {
            assert_eq!(HolderRecord::from_text(bad), None, "{bad:?}");
        }
    }
}
