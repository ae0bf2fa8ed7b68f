//! Runs of a host's real-time clock, as the program counted them that wrote a file. The kernel's timestamps and those of the
//! NIC have a counter each: a step that one of them noticed may have escaped the other, so that equal numbers of both prove nothing.

use wirestamp_core::capability::TimestampSource;

/// An uninterrupted run of the real-time clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClockRun {
    /// Whose counter it is: that of the kernel's timestamps (software), or of the NIC's.
    pub counter: TimestampSource,
    /// The number of steps that this counter has noticed.
    pub generation: u32,
}

impl ClockRun {
    /// The run of a time for which the file names none.
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

/// The numbers of both counters of a file until a packet, the packet's own among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Counted([Option<u32>; 2]);

impl Counted {
    /// Notes that a packet is of this run. Returns the numbers of both counters at it.
    pub(crate) fn note(&mut self, run: ClockRun) -> Self {
        self.0[run.place()] = Some(run.generation);
        *self
    }

    /// Whether no step came between a packet at which `self` was known and a later one of `run`, at which `until` was.
    pub(crate) fn is_same_run(&self, run: ClockRun, until: &Self) -> bool {
        let (own, other) = (run.place(), 1 - run.place());
        // whoever has counted nothing has counted nothing before
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
        // the kernel's counter noticed a small step that escaped the NIC's, and both the next one
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
        // the NIC's number was the same before the request and at the answer
        let mut counted = Counted::default();
        counted.note(run(Hardware, 7));
        let asked = counted.note(run(Software, 9));
        let answered = counted.note(run(Hardware, 7));
        assert!(asked.is_same_run(run(Hardware, 7), &answered));
        // but the kernel's shows a step in between
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
