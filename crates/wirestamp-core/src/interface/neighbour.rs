//! The neighbour by which packets leave: whether somebody is there.

use crate::time::{MonotonicTime, Span};

/// What a system knows of the neighbour to which packets are passed: the host itself, or the
/// router towards it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NeighbourState {
    /// It is or was there, or needs no looking for.
    Known,
    /// It is being looked for.
    Incomplete,
    /// It was looked for, and nobody has answered.
    Failed,
}

impl NeighbourState {
    /// Returns the state that Linux' bits `NUD_…` stand for; `None` for no bit: nobody was looked
    /// for yet.
    pub const fn from_linux(bits: u16) -> Option<Self> {
        const INCOMPLETE: u16 = 0x01;
        const FAILED: u16 = 0x20;
        match bits {
            0 => None,
            bits if bits & FAILED != 0 => Some(Self::Failed),
            bits if bits & INCOMPLETE != 0 => Some(Self::Incomplete),
            _ => Some(Self::Known),
        }
    }
}

/// Decides from looks at a neighbour whether nobody is there.
///
/// A system that goes on sending looks for it again and again, so that a look seldom finds that it
/// has failed. A neighbour that is there answers within a second, the interval of the requests.
/// Looks are [`INTERVAL`](Self::INTERVAL) apart.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NeighbourWatch {
    /// Since when it is being looked for.
    since: Option<MonotonicTime>,
    /// The last look.
    looked: Option<MonotonicTime>,
}

impl NeighbourWatch {
    /// The interval of looks. After two without one, nothing is known of the time before.
    pub const INTERVAL: Span = Span::from_seconds(1);
    /// So long after it was looked for first, two requests were not answered.
    const PATIENCE: Span = Span::from_seconds(2);

    /// Takes what a look has found at this time, and returns whether nobody is there.
    pub fn is_missing(&mut self, found: Option<NeighbourState>, at: MonotonicTime) -> bool {
        let longest = Self::INTERVAL + Self::INTERVAL;
        let last = self.looked.replace(at);
        if last.is_some_and(|last| at - last > longest) {
            self.since = None;
        }
        if found == Some(NeighbourState::Failed) {
            self.since = None;
            return true;
        }
        if found != Some(NeighbourState::Incomplete) {
            self.since = None;
            return false;
        }
        let since = *self.since.get_or_insert(at);
        at - since >= Self::PATIENCE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linux_bits_are_read() {
        let states = [0, 0x01, 0x02, 0x04, 0x20, 0x40, 0x80].map(NeighbourState::from_linux);
        let [known, incomplete, failed] = [
            NeighbourState::Known,
            NeighbourState::Incomplete,
            NeighbourState::Failed,
        ]
        .map(Some);
        assert_eq!(
            states,
            [None, incomplete, known, known, failed, known, known]
        );
    }

    #[test]
    fn who_is_looked_for_for_long_is_missing() {
        let at = |ms: i64| MonotonicTime::from_nanoseconds(ms * 1_000_000);
        let mut watch = NeighbourWatch::default();
        let mut look = |ms, found| watch.is_missing(found, at(ms));
        let incomplete = Some(NeighbourState::Incomplete);
        assert!(!look(0, incomplete), "it may answer yet");
        assert!(!look(1_999, incomplete));
        assert!(look(2_000, incomplete));
        assert!(!look(3_000, Some(NeighbourState::Known)), "it is there");
        assert!(!look(4_000, incomplete), "from the beginning again");
        assert!(look(4_001, Some(NeighbourState::Failed)));
        assert!(!look(6_000, incomplete), "it is looked for anew");
        assert!(!look(6_001, None));
        assert!(!look(7_000, incomplete));
        assert!(
            !look(3_600_000, incomplete),
            "it was not looked at meanwhile"
        );
        assert!(!look(3_601_500, incomplete));
        assert!(look(3_602_000, incomplete));
    }
}
