//! What a behaviour is and the list of all of them, one file per row of the
//! specification's table and two more for the clock behind an interface and for several NICs behind one, four for what real NICs and kinds
//! of Windows showed, one for adopted sockets, one for Ethernet and one for captures. Runs none.

#[cfg(target_os = "linux")]
mod adopting;
mod captures;
mod ethernet;
mod nic_clock;
mod nic_latency;
mod nic_timestamps;
mod row01_interfaces;
mod row02_capabilities;
mod row03_verdict;
mod row04_configuration;
mod row05_receive;
mod row06_queueing;
mod row06_transmit;
mod row07_waiting;
mod row08_endings;
mod row09_ids;
mod row10_queue;
mod row11_clocks;
mod row12_cross;
mod row13_clock_behind;
mod row13_correlator;
mod row13_several_nics;
mod row14_callbacks;
mod row14_changes;
mod row15_bounds;
mod row15_latency;
mod row16_batches;
mod row16_engines;
mod row17_bad_input;
mod row17_faults;
mod windows_platforms;

use crate::Outcome;
use crate::rig::{Need, Rig, Setup};

/// Something that every backend does in the same way.
#[derive(Debug, Clone, Copy)]
pub struct Behaviour {
    /// Which row of [`ROWS`](crate::ROWS) it belongs to, from 1.
    pub row: u8,
    /// What it says, with hyphens.
    pub name: &'static str,
    /// What a rig must have to show it.
    pub needs: &'static [Need],
    /// And its system: what only some have at all.
    pub also: &'static [Need],
    /// What the simulator simulates for it.
    pub setup: Setup,
    /// Shows it: panics where an assertion is broken.
    pub run: fn(&Rig) -> Outcome,
}

impl Behaviour {
    /// On every rig; simulated on a NIC without noise.
    const fn new(row: u8, name: &'static str, run: fn(&Rig) -> Outcome) -> Self {
        Self {
            row,
            name,
            needs: &[],
            also: &[],
            setup: Setup::Preset("ideal"),
            run,
        }
    }

    const fn needs(self, needs: &'static [Need]) -> Self {
        Self { needs, ..self }
    }

    const fn also(self, also: &'static [Need]) -> Self {
        Self { also, ..self }
    }

    const fn preset(self, name: &'static str) -> Self {
        Self {
            setup: Setup::Preset(name),
            ..self
        }
    }

    const fn toml(self, text: &'static str) -> Self {
        Self {
            setup: Setup::Toml(text),
            ..self
        }
    }

    /// Everything that a rig must have to show it: first what its system must have.
    pub fn all_needs(&self) -> impl Iterator<Item = Need> {
        self.also.iter().chain(self.needs).copied()
    }

    /// Whether it is shown on adopted sockets too.
    pub fn differs_when_adopted(&self) -> bool {
        DIFFERS_WHEN_ADOPTED.contains(&self.title().as_str())
    }

    /// Row and name: `06-capacity-zero-discards-every-timestamp`.
    pub fn title(&self) -> String {
        match self.row {
            17 => format!("bad-{}", self.name),
            row => format!("{row:02}-{}", self.name),
        }
    }
}

/// Those to which it makes a difference who made the sockets.
const DIFFERS_WHEN_ADOPTED: [&str; 26] = [
    "05-software-timestamps-over-ipv4",
    "05-software-timestamps-over-ipv6",
    "05-software-timestamps-on-connected-sockets",
    "05-a-sockets-timestamps-are-its-own-choice",
    "06-one-call-sets-everything-and-says-what-is-in-force",
    "06-what-is-omitted-is-off",
    "06-each-timestamp-comes-under-its-own-id",
    "06-a-datagram-without-an-id-is-not-timestamped",
    "06-capacity-65535-is-taken",
    "07-a-wait-ends-at-its-deadline-and-the-id-stays-pending",
    "07-tasks-that-wait-for-different-things-each-get-theirs",
    "08-lost-by-a-reset",
    "08-lost-by-a-new-configuration",
    "08-lost-because-the-socket-was-closed",
    "09-ids-are-carried-where-the-system-can",
    "09-carried-ids-are-the-callers",
    "09-counted-ids-are-the-callers",
    "09-counted-ids-mix-with-datagrams-without-one",
    "10-an-icmp-error-is-set-apart-and-the-timestamp-still-comes",
    "10-without-notices-a-connected-socket-gets-the-error-once",
    "10-a-full-receive-queue-is-counted",
    "16-a-batch-arrives-whole-in-order-and-timestamped",
    "16-what-a-ring-took-from-the-socket-arrives-after-it-was-given-up",
    "16-a-wait-ends-at-once-while-a-ring-holds-datagrams",
    "bad-a-datagram-longer-than-the-buffer",
    "bad-no-destination",
];

/// All behaviours, row by row.
pub fn all() -> Vec<Behaviour> {
    [
        row01_interfaces::ALL,
        row02_capabilities::ALL,
        row03_verdict::ALL,
        row04_configuration::ALL,
        row05_receive::ALL,
        row06_transmit::ALL,
        row06_queueing::ALL,
        row07_waiting::ALL,
        row08_endings::ALL,
        row09_ids::ALL,
        row10_queue::ALL,
        row11_clocks::ALL,
        row12_cross::ALL,
        row13_clock_behind::ALL,
        row13_several_nics::ALL,
        row13_correlator::ALL,
        row14_changes::ALL,
        row14_callbacks::ALL,
        row15_latency::ALL,
        row15_bounds::ALL,
        row16_batches::ALL,
        row16_engines::ALL,
        row17_bad_input::ALL,
        row17_faults::ALL,
        windows_platforms::ALL,
        nic_clock::ALL,
        nic_timestamps::ALL,
        nic_latency::ALL,
        ethernet::ALL,
        captures::ALL,
        #[cfg(target_os = "linux")]
        adopting::ALL,
    ]
    .concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_row_has_several_behaviours_and_no_title_twice() {
        let titles: BTreeSet<_> = all().iter().map(Behaviour::title).collect();
        assert_eq!(titles.len(), all().len());
        for title in DIFFERS_WHEN_ADOPTED {
            assert!(titles.contains(title), "there is no {title}");
        }
        for row in 1..=crate::ROWS.len() {
            let count = all()
                .iter()
                .filter(|behaviour| usize::from(behaviour.row) == row)
                .count();
            assert!(count >= 3, "row {row} has {count}");
        }
    }
}
