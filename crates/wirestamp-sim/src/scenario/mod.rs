//! The description of a simulation: NICs, clocks, link, faults, and events.
//! Runs nothing.

mod action;
mod check;
mod cross;
mod document;
mod filter;
mod length;
mod merge;
mod nic;
mod presets;
mod program;
mod traffic;

pub(crate) use action::{Event, Which};
pub(crate) use cross::CrossKind;
pub(crate) use document::{Cost, Host, Link, Platform};
pub(crate) use filter::Filter;
pub(crate) use length::{Delay, Length, Positive, Probability};
pub(crate) use nic::{Beyond, Clock, Nic, TransmitTimestamps};
pub(crate) use program::{Kind, Program};
pub(crate) use traffic::Traffic;

use wirestamp_core::{Error, ErrorKind, Result};

/// The parts of a simulation, checked.
///
/// Written as TOML. Every field has a default, or starts from a preset with `preset = "igb"`;
/// tables are merged field by field, anything else is replaced, delays as a whole. Times carry
/// their unit (ns, us, ms, s, min, h), probabilities lie between 0 and 1.
///
/// ```
/// let scenario = wirestamp_sim::Scenario::from_toml(
///     r#"
///     preset = "igb"
///     [nic.faults]
///     lost = 0.01
///     [[event]]
///     at = "3s"
///     action = "step_utc"
///     by = "-100s"
///     "#,
/// )?;
/// assert_eq!(scenario.name(), "igb");
/// # Ok::<(), wirestamp_core::Error>(())
/// ```
///
/// Events at a set time: `step_utc` (`by`), `slew_system` (`ppb`), and with `nic = "sim0"` or `"sim1"`
/// `step_hardware` (`ticks`), `reset_hardware` (`to`), `change_rate` and `adjust_hardware` (`ppb`), `virtual_clocks`
/// (`count`), `reconfigure` (`transmit`, `receive`), `remove` and `add`; `link_down`, `link_up`; `storm` and
/// `lose_notifications` (`count`).
///
/// All other fields, with their defaults:
///
/// ```toml
#[doc = include_str!("fields.toml")]
/// ```
///
/// Only the program that uses a simulation sends packets in it, and the scenario's `[[traffic]]`, with these defaults:
///
/// ```toml
#[doc = include_str!("traffic.toml")]
/// ```
#[derive(Debug, Clone)]
pub struct Scenario {
    name: String,
    pub(crate) platform: Platform,
    pub(crate) bridge: bool,
    pub(crate) host: Host,
    pub(crate) nics: [Nic; 2],
    pub(crate) link: Link,
    pub(crate) cost: Cost,
    pub(crate) events: Vec<Event>,
    pub(crate) traffic: Vec<Traffic>,
}

impl Scenario {
    /// The preset that `sim0` is without further notice: a good NIC.
    pub const DEFAULT: &str = "i225";

    /// Names and one-line descriptions of all presets.
    pub fn presets() -> &'static [(&'static str, &'static str)] {
        presets::LIST
    }

    /// One of the presets, by name.
    ///
    /// # Errors
    /// `InvalidInput` for an unknown name; the message lists the known ones.
    pub fn preset(name: &str) -> Result<Self> {
        Self::read(merge::preset(name)?, name, None)
    }

    /// Reads a scenario from TOML.
    ///
    /// # Errors
    /// `InvalidInput`; the message names the line, the field and the allowed values.
    pub fn from_toml(text: &str) -> Result<Self> {
        let (table, name) = merge::complete(text)?;
        Self::read(table, &name, Some(text))
    }

    /// Returns its name: the preset it is or stands on, or `custom`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Makes a scenario from a merged table, and checks it; there is no other way. `text` is the user's, for the line
    /// numbers.
    fn read(table: toml::Table, name: &str, text: Option<&str>) -> Result<Self> {
        let document: document::Document = table.try_into().map_err(|error: toml::de::Error| {
            Error::new(
                ErrorKind::InvalidInput,
                "read the scenario",
                name,
                error.message().to_owned(),
            )
        })?;
        check::document(&document).map_err(|violation| violation.into_error(name, text))?;
        let mut events = document.event;
        events.sort_by_key(Event::at);
        Ok(Self {
            name: name.to_owned(),
            platform: document.platform,
            bridge: document.bridge,
            host: document.host,
            nics: [
                document.sim0.unwrap_or_else(|| document.nic.clone()),
                document.sim1.unwrap_or(document.nic),
            ],
            link: document.link,
            cost: document.cost,
            events,
            traffic: document.traffic,
        })
    }
}

impl Default for Scenario {
    /// [`Scenario::DEFAULT`].
    fn default() -> Self {
        Self::preset(Self::DEFAULT).unwrap_or_else(|_| Self {
            name: String::from("plain"),
            platform: Platform::default(),
            bridge: false,
            host: Host::default(),
            nics: [Nic::default(), Nic::default()],
            link: Link::default(),
            cost: Cost::default(),
            events: Vec::new(),
            traffic: Vec::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documented_fields_are_all_there_are_with_their_defaults() {
        let documented: document::Document =
            toml::from_str(include_str!("fields.toml")).expect("valid");
        assert_eq!(
            format!("{documented:#?}"),
            format!("{:#?}", document::Document::default())
        );
        // "expected one of" lists every field of a table
        for table in [
            "host",
            "nic",
            "nic.clock",
            "nic.clock.adjustment",
            "nic.cross",
            "nic.program",
            "nic.faults",
            "link",
            "cost",
        ] {
            let error = Scenario::from_toml(&format!("[{table}]\nnothing = 0"))
                .expect_err("unknown")
                .to_string();
            let fields = error.split_once("expected one of ").expect("a list").1;
            for field in fields.split(", ").map(|field| field.trim_matches('`')) {
                let documented = include_str!("fields.toml").lines().any(|line| {
                    line.strip_prefix(field)
                        .is_some_and(|rest| rest.starts_with(" ="))
                });
                let is_table = include_str!("fields.toml").contains(&format!("[{table}.{field}]"));
                assert!(documented || is_table, "{table}.{field} is not documented");
            }
        }
    }
}
