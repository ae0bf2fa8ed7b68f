//! What goes wrong, in an order that a seed decides.

use wirestamp::sim::NicName;
use wirestamp::{MonotonicTime, Simulation, Span};

/// The faults of single packets and timestamps. Late timestamps now and then miss the deadline.
pub(crate) const SCENARIO: &str = r#"
preset = "igc"

[link]
lost = 0.01
duplicated = 0.01

[nic.faults]
lost = 0.01
late = 0.02
late_from = "1ms"
late_to = "20s"
reordered = 0.02
duplicated = 0.01
zero = 0.01
receive_zero = 0.01
receive_reordered = 0.01
control_truncated = 0.005
not_permitted = 0.001
no_buffers = 0.001
"#;

/// A fault to be undone.
#[derive(Clone, Copy)]
enum Undo {
    LinkUp,
    Add(NicName),
    NoDelay,
}

pub(crate) struct Faults {
    simulation: Simulation,
    state: u64,
    undo: Vec<(MonotonicTime, Undo)>,
    /// The last fault.
    pub(crate) last: String,
    pub(crate) count: u64,
}

/// What the others have to do.
pub(crate) enum Asked {
    Nothing,
    /// The third server's lie.
    Lie(Span),
    Reload,
}

impl Faults {
    pub(crate) fn new(simulation: Simulation, seed: u64) -> Self {
        Self {
            simulation,
            state: seed,
            undo: Vec::new(),
            last: String::new(),
            count: 0,
        }
    }

    /// SplitMix64.
    fn random(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn between(&mut self, least: i64, most: i64) -> i64 {
        least + (self.random() % (most - least + 1) as u64) as i64
    }

    /// Ends what is over.
    pub(crate) fn undo(&mut self, now: MonotonicTime) {
        let (over, left): (Vec<_>, _) = self.undo.drain(..).partition(|(at, _)| *at <= now);
        self.undo = left;
        for (_, undo) in over {
            let world = self.simulation.world();
            match undo {
                Undo::LinkUp => world.set_link(true),
                Undo::Add(nic) => world.add_nic(nic),
                Undo::NoDelay => [NicName::Sim0, NicName::Sim1]
                    .iter()
                    .for_each(|nic| world.set_extra_delay(*nic, Span::ZERO)),
            }
        }
    }

    /// Lets the next thing go wrong.
    pub(crate) fn next(&mut self, now: MonotonicTime) -> Asked {
        self.count += 1;
        let (which, nanoseconds) = (
            self.random() % 13,
            self.between(-1_000_000_000, 1_000_000_000),
        );
        let later = now + Span::from_seconds(self.between(3, 40));
        let nic = if self.random().is_multiple_of(2) {
            NicName::Sim0
        } else {
            NicName::Sim1
        };
        let is_gone = self
            .undo
            .iter()
            .any(|(_, undo)| matches!(undo, Undo::Add(_)));
        let delay = Span::from_nanoseconds(i128::from(nanoseconds.abs() / 200));
        self.last = format!("{which} at {now:?}, {nic:?}, {nanoseconds} ns, until {later:?}");
        let world = self.simulation.world();
        match which {
            0 => world.step_real_time_clock(Span::from_nanoseconds(nanoseconds.into())),
            1 => world.step_real_time_clock(Span::from_nanoseconds((nanoseconds / 100_000).into())),
            2 if !is_gone => world.step_hardware_clock(nic, nanoseconds),
            3 if !is_gone => world.reset_nic(nic, nanoseconds.unsigned_abs()),
            4 | 5 => {
                world.set_link(false);
                self.undo.push((later, Undo::LinkUp));
            }
            6 | 7 if !is_gone => {
                world.remove_nic(nic);
                self.undo.push((later, Undo::Add(nic)));
            }
            8 => world.storm(1_000),
            9 => world.lose_notifications(3),
            10 => {
                world.set_extra_delay(nic, delay);
                self.undo.push((later, Undo::NoDelay));
            }
            11 => return Asked::Lie(Span::from_nanoseconds((nanoseconds / 20).into())),
            12 => return Asked::Reload,
            _ => {}
        }
        Asked::Nothing
    }
}
