//! Generations of a host's real-time clock, as counted by the program that wrote a file. Kernel and
//! NIC timestamps have separate counters: one may miss a step that the other noticed, so equal
//! numbers of both do not mean the same generation.

use wirestamp_core::capability::TimestampSource;

/// A generation of the real-time clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClockRun {
    /// The counter: that of the kernel's timestamps (software), or of the NIC's (hardware).
    pub counter: TimestampSource,
    /// The number of steps that this counter has noticed before.
    pub generation: u32,
}

impl ClockRun {
    /// The generation of a time for which the file has none.
    pub(crate) const FIRST: Self = Self {
        counter: TimestampSource::Software,
        generation: 0,
    };

    pub(crate) fn place(self) -> usize {
        match self.counter {
            TimestampSource::Software => 0,
            TimestampSource::Hardware => 1,
        }
    }
}

/// Both counters of a file up to a packet, including the packet's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Counted([Option<u32>; 2]);

impl Counted {
    /// Notes a packet's generation, and returns both counters at it.
    pub(crate) fn note(&mut self, run: ClockRun) -> Self {
        self.0[run.place()] = Some(run.generation);
        *self
    }

    /// Returns whether no step came between a packet with the counters `self` and a later one of
    /// generation `run` with the counters `until`.
    pub(crate) fn is_same_run(&self, run: ClockRun, until: &Self) -> bool {
        let (own, other) = (run.place(), 1 - run.place());
        // a counter without a value was 0 before
        let own_is_same = self.0[own].map_or(run.generation == 0, |known| known == run.generation);
        let other_was_stepped =
            matches!((self.0[other], until.0[other]), (Some(one), Some(next)) if one != next);
        own_is_same && !other_was_stepped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(counter: TimestampSource, generation: u32) -> ClockRun {
        ClockRun {
            counter,
            generation,
        }
    }

    #[test]
    fn equal_numbers_of_two_counters_prove_nothing() {
        use TimestampSource::{Hardware, Software};
        // the kernel's counter noticed a small step that the NIC's missed, and both noticed the
        // next one
        let mut counted = Counted::default();
        counted.note(run(Hardware, 0));
        let asked = counted.note(run(Software, 1));
        let answered = counted.note(run(Hardware, 1));
        assert!(!asked.is_same_run(run(Hardware, 1), &answered));
        // nothing was stepped
        let mut counted = Counted::default();
        let asked = counted.note(run(Software, 0));
        let answered = counted.note(run(Hardware, 0));
        assert!(asked.is_same_run(run(Hardware, 0), &answered));
        // the number of the NIC's counter was the same before the request and at the answer
        let mut counted = Counted::default();
        counted.note(run(Hardware, 7));
        let asked = counted.note(run(Software, 9));
        let answered = counted.note(run(Hardware, 7));
        assert!(asked.is_same_run(run(Hardware, 7), &answered));
        // but the kernel's counter shows a step in between
        let mut counted = Counted::default();
        counted.note(run(Hardware, 7));
        let asked = counted.note(run(Software, 9));
        counted.note(run(Software, 10));
        let answered = counted.note(run(Hardware, 7));
        assert!(!asked.is_same_run(run(Hardware, 7), &answered));
        // a file that continues another one: the number of the NIC's counter is unknown
        let mut counted = Counted::default();
        let asked = counted.note(run(Software, 3));
        let answered = counted.note(run(Hardware, 3));
        assert!(!asked.is_same_run(run(Hardware, 3), &answered));
    }
}
