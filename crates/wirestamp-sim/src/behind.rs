//! Which clock was behind a NIC's interface when, and what it showed then.

use crate::nic::Nic;
use wirestamp_core::time::HardwareTicks;

/// Some clock from `since` on, up to `until`.
#[derive(Debug, Clone, Copy)]
struct Stay {
    since: i64,
    until: i64,
    number: u32,
}

impl Nic {
    /// What the clock showed at `at` that was behind the interface then.
    pub(crate) fn ticks_behind(&mut self, at: i64) -> Option<HardwareTicks> {
        let stay = self.stays(at).into_iter().find(|stay| at >= stay.since)?;
        self.ticks_of(stay.number, at)
    }

    /// When timestamps began to be `ticks`, up to `now`; the latest time if they did so repeatedly.
    pub(crate) fn when_behind(&mut self, ticks: HardwareTicks, now: i64) -> Option<i64> {
        self.stays(now)
            .into_iter()
            .find_map(|stay| self.when_within(stay, ticks))
    }

    fn when_within(&mut self, stay: Stay, ticks: HardwareTicks) -> Option<i64> {
        let counter = match self.clocks_beside.get_mut(&stay.number) {
            Some(counter) => counter,
            None => &mut self.counter,
        };
        let began = counter.when(ticks, stay.until)?;
        // it may have shown them already when it came
        let is_shown = began >= stay.since || counter.read(stay.since) == Some(ticks);
        is_shown.then(|| began.max(stay.since))
    }

    /// The newest first.
    fn stays(&self, now: i64) -> Vec<Stay> {
        let (mut stays, mut until) = (Vec::new(), now);
        let mut number = self.clock_number();
        for (end, former) in self.former_clocks.iter().rev() {
            stays.extend(number.map(|number| Stay {
                since: *end,
                until,
                number,
            }));
            (until, number) = (now.min(end - 1), Some(*former));
        }
        stays.extend(number.map(|number| Stay {
            since: i64::MIN,
            until,
            number,
        }));
        stays
    }
}
