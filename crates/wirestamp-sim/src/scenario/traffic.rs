//! The traffic of other programs, as a scenario file writes it.

use super::action::Which;
use super::length::{Delay, Positive, Probability};
use serde::Deserialize;

/// One `[[traffic]]`: requests from one NIC to a port of the other, which a program there answers.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Traffic {
    /// Which NIC asks.
    pub(crate) from: Which,
    /// When the first request is sent, from the start of the simulation.
    pub(crate) start: Positive,
    /// From one request to the next.
    pub(crate) interval: Positive,
    /// How many requests; 0: without end.
    pub(crate) count: u64,
    /// Bytes of payload.
    pub(crate) size: u32,
    /// From so many ports in turn.
    pub(crate) flows: u16,
    /// To this port.
    pub(crate) port: u16,
    pub(crate) ipv6: bool,
    /// In this VLAN; 0: in none. No socket of the host is in one.
    pub(crate) vlan: u16,
    /// How often a request is answered.
    pub(crate) answered: Probability,
    /// How long after it came.
    pub(crate) answer_after: Delay,
}

impl Default for Traffic {
    fn default() -> Self {
        Self {
            from: Which::Sim1,
            start: Positive::from_nanoseconds(10_000_000),
            interval: Positive::from_nanoseconds(10_000_000),
            count: 0,
            size: 64,
            flows: 1,
            port: 4_000,
            ipv6: false,
            vlan: 0,
            answered: Probability::CERTAINTY,
            answer_after: Delay::jittery(200_000, 20_000),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;

    #[test]
    fn the_documented_traffic_is_the_default_and_has_every_field() {
        let text = include_str!("traffic.toml");
        let scenario = Scenario::from_toml(text).expect("valid");
        assert_eq!(scenario.traffic, [Traffic::default()]);
        let error = Scenario::from_toml("[[traffic]]\nnothing = 0").expect_err("unknown");
        let error = error.to_string();
        let fields = error.split_once("expected one of ").expect("a list").1;
        for field in fields.split(", ").map(|field| field.trim_matches('`')) {
            let field = format!("\n{field} =");
            assert!(text.contains(&field), "{field} is not documented");
        }
    }

    #[test]
    fn traffic_that_makes_no_sense_is_refused_by_line_and_field() {
        for (field, allowed) in [
            (
                "interval = \"10ns\"",
                "traffic[0].interval is 10; allowed: 100 to",
            ),
            (
                "interval = \"3601s\"",
                "traffic[0].interval is 3601000000000; allowed: 100 to 3600000000000",
            ),
            ("size = 4", "traffic[0].size is 4; allowed: 16 to 65507"),
            (
                "size = 65_508",
                "traffic[0].size is 65508; allowed: 16 to 65507",
            ),
            ("flows = 0", "traffic[0].flows is 0; allowed: 1 to 1000"),
            (
                "flows = 1_001",
                "traffic[0].flows is 1001; allowed: 1 to 1000",
            ),
            ("port = 0", "traffic[0].port is 0; allowed: 1 to 65535"),
            ("vlan = 4095", "traffic[0].vlan is 4095; allowed: 0 to 4094"),
            ("answered = 2", "no probability"),
            ("from = \"sim2\"", "unknown variant"),
        ] {
            let error = Scenario::from_toml(&format!("[[traffic]]\n{field}")).expect_err(field);
            let error = error.to_string();
            assert!(
                error.contains(allowed) && error.contains("line 2"),
                "{error}"
            );
        }
        let second = "[[traffic]]\n[[traffic]]\nflows = 0";
        let error = Scenario::from_toml(second).expect_err("the second one");
        let error = error.to_string();
        assert!(
            error.contains("traffic[1].flows") && error.contains("line 3"),
            "{error}"
        );
    }
}
