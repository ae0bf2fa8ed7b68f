//! A scenario with a change of a clock in it.

use crate::Chance;
use std::fmt::Write as _;

/// Between two changes there are three batches of readings at least (`docs/error-bound.md`, A6): a failback between two readings, which
/// nobody announces, shows nowhere.
const APART: i64 = 1_600_000_000;

/// What somebody does to a clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Steps a NIC's clock.
    Step,
    /// Adjusts the frequency of a NIC's clock.
    Adjust,
    /// Slews the system clock.
    Slew,
    /// Another clock is behind the interface, and sometimes the former one again.
    Failover,
}

/// What may happen in a world.
#[derive(Debug, Clone, Copy)]
pub struct Clocks<'a> {
    /// What the NICs are.
    pub presets: &'a [&'a str],
    /// When something may happen, in nanoseconds from the start: from then on, for so long.
    pub when: (i64, i64),
    /// What may happen.
    pub changes: &'a [Change],
    /// Whether the real-time clock is stepped in every second world, too.
    pub steps_utc: bool,
}

/// A scenario.
#[derive(Debug)]
pub struct Changed {
    /// As a file.
    pub toml: String,
    /// When the real-time clock is stepped in it after the start, and by how much, in nanoseconds.
    pub utc: Option<(i64, i64)>,
    /// From when on the system clock is slewed, and by how many parts per billion.
    pub slewed: Option<(i64, i64)>,
    /// When a NIC's clock is stepped, and by how many ticks.
    pub stepped: Option<(i64, i64)>,
    /// When another clock comes behind an interface.
    pub failovers: Vec<i64>,
}

impl Clocks<'_> {
    /// Makes a scenario: a change of the clocks at any time, and sometimes a step of the real-time clock beside it.
    ///
    /// # Panics
    /// Never: a string takes everything.
    pub fn scenario(&self, chance: &mut Chance) -> Changed {
        let preset = chance.one_of(self.presets);
        let mut changed = Changed {
            toml: format!("preset = \"{preset}\"\n"),
            utc: None,
            slewed: None,
            stepped: None,
            failovers: Vec::new(),
        };
        let nic = chance.one_of(&["sim0", "sim1"]);
        let (change, step) = (chance.one_of(self.changes), chance.step());
        let ppb = step.rem_euclid(1_000_000) - 500_000;
        let to_clock = |clock: u32, announced: bool| {
            format!(
                "action = \"change_clock\"\nnic = \"{nic}\"\nclock = {clock}\nahead = \"{step}ns\"\nppb = {}\nannounced = {announced}",
                ppb / 10
            )
        };
        let action = match change {
            Change::Step => format!("action = \"step_hardware\"\nnic = \"{nic}\"\nticks = {step}"),
            Change::Adjust => format!("action = \"adjust_hardware\"\nnic = \"{nic}\"\nppb = {ppb}"),
            Change::Slew => format!("action = \"slew_system\"\nppb = {ppb}"),
            Change::Failover => to_clock(20, chance.below(2) == 0),
        };
        let at = self.event(&mut changed.toml, chance, &action);
        changed.slewed = (change == Change::Slew).then_some((at, ppb));
        changed.stepped = (change == Change::Step).then_some((at, step));
        if change == Change::Failover {
            changed.failovers.push(at);
        }
        if change == Change::Failover && chance.below(2) == 0 {
            let back = to_clock(if nic == "sim0" { 0 } else { 1 }, chance.below(2) == 0);
            let until = at + APART + chance.below(self.when.1 as u64) as i64;
            write_event(&mut changed.toml, until, &back);
            changed.failovers.push(until);
        }
        // another clock: its steps come when they like
        if self.steps_utc && chance.below(2) == 0 {
            let step = chance.step();
            let action = format!("action = \"step_utc\"\nby = \"{step}ns\"");
            changed.utc = Some((self.event(&mut changed.toml, chance, &action), step));
        }
        changed
    }

    fn event(&self, toml: &mut String, chance: &mut Chance, action: &str) -> i64 {
        let at = self.when.0 + chance.below(self.when.1 as u64) as i64;
        write_event(toml, at, action);
        at
    }
}

fn write_event(toml: &mut String, at: i64, action: &str) {
    write!(toml, "\n[[event]]\nat = \"{at}ns\"\n{action}\n").expect("a string");
}
