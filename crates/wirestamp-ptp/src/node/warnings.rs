//! Warnings about a running clock, and the explanation of missing measurements.

use super::Node;
use crate::configuration::DelayMechanism;
use crate::engine::PortState;
use crate::port::Taken;
use crate::unmeasured::Unmeasured;
use crate::warning::Warning;

/// The largest difference from UTC, in nanoseconds, of a clock that shows UTC.
const NEAR_UTC: u64 = 1_000_000_000;

impl Node<'_> {
    /// Returns the current warnings. Reads the NIC's clock.
    pub fn warnings(&self) -> Vec<Warning> {
        let not_by_nic = self.ports.iter().filter_map(|port| {
            Some(Warning::SoftwareInstead {
                interface: port.interface().name().to_owned(),
                error: port.not_by_nic()?.clone(),
            })
        });
        let diverted = self.ports.iter().filter_map(|port| {
            Some(Warning::Diverted {
                interface: port.interface().name().to_owned(),
                why: port.diverted()?.to_owned(),
            })
        });
        let all = not_by_nic.chain(diverted).chain(self.shows_utc());
        all.collect()
    }

    /// Returns why nothing was measured, derived from the messages that came. Only meaningful for a
    /// clock without measurements.
    pub fn unmeasured(&self) -> Unmeasured {
        let mut taken = Taken::default();
        for port in &self.ports {
            taken.add(&port.taken());
        }
        let mechanism = self.engine.configuration.delay_mechanism;
        Unmeasured::of(&taken, &self.counts(), mechanism == DelayMechanism::P2p)
    }

    /// The warning for a grandmaster whose first port's clock, which all ports announce, shows UTC.
    fn shows_utc(&self) -> Option<Warning> {
        let utc_offset = self.engine.configuration.utc_offset;
        let transmits = |state| matches!(state, PortState::TimeTransmitter);
        let is_grandmaster =
            self.followed().is_none() && self.ports.iter().any(|port| transmits(port.state()));
        if !is_grandmaster || !self.transmits_ptp_time() || utc_offset == 0 {
            return None;
        }
        let first = &self.ports[0];
        let apart = first.clock().borrow().minus_utc(first.socket_for_time())?;
        (apart.unsigned_abs() < NEAR_UTC).then(|| Warning::ShowsUtc {
            interface: first.interface().name().to_owned(),
            utc_offset,
        })
    }
}
