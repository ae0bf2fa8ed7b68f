//! The thinning of unknown senders' messages during a flood: of each kind one in 2^n is read, few
//! enough that messages of known senders find room in the socket's receive buffer. The system's
//! socket filter does it.

use super::Sender;
use crate::message::PortIdentity;
use wirestamp::{MonotonicTime, Span};

/// The classes: the kinds of messages by their number, and all other datagrams.
pub(crate) const CLASSES: usize = 17;
pub(crate) const OTHER: usize = 16;
/// The length of a message's header in bytes.
pub(crate) const HEADER: usize = 34;
const WINDOW: Span = Span::from_milliseconds(100);
/// More messages of unknown senders in a window than this are a flood,
const MOST: f64 = 2_000.0;
/// which is thinned out to at most this many.
const LEFT: f64 = 1_000.0;
/// The number of windows with room after which more messages are passed.
const CALM: u32 = 10;
/// The largest exponent: one in 65,536.
const LARGEST: u8 = 16;

/// The messages to pass: all of known senders, and one in 2^`exponents` of others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Thinned {
    pub(crate) domains: Vec<u8>,
    pub(crate) known: Vec<Sender>,
    pub(crate) exponents: [u8; CLASSES],
}

/// Returns the class of a datagram.
pub(crate) fn class_of(datagram: &[u8], domains: &[u8]) -> usize {
    match *datagram {
        [first, version, _, _, domain, ..]
            if datagram.len() >= HEADER
                && version & 0x0f == 2
                && first & 0xf0 == 0
                && domains.contains(&domain) =>
        {
            usize::from(first & 0x0f)
        }
        _ => OTHER,
    }
}

/// Returns the sender of a datagram, if it can be decoded.
pub(crate) fn source_of(datagram: &[u8]) -> Option<PortIdentity> {
    let (clock, port) = (
        datagram.get(20..28)?.try_into().ok()?,
        datagram.get(28..30)?.try_into().ok()?,
    );
    Some(PortIdentity {
        clock,
        port: u16::from_be_bytes(port),
    })
}

/// The counts of one socket, and the current thinning.
#[derive(Debug, Clone)]
pub(crate) struct Thinning {
    begun: MonotonicTime,
    strangers: [u32; CLASSES],
    known: u32,
    exponents: [u8; CLASSES],
    calm: u32,
}

impl Thinning {
    pub(crate) fn new(now: MonotonicTime) -> Self {
        Self {
            begun: now,
            strangers: [0; CLASSES],
            known: 0,
            exponents: [0; CLASSES],
            calm: 0,
        }
    }

    /// Counts a datagram that was read.
    pub(crate) fn count(&mut self, class: usize, is_known: bool) {
        let counter = if is_known {
            &mut self.known
        } else {
            &mut self.strangers[class]
        };
        *counter = counter.saturating_add(1);
    }

    pub(crate) fn exponents(&self) -> [u8; CLASSES] {
        self.exponents
    }

    pub(crate) fn is_on(&self) -> bool {
        self.exponents != [0; CLASSES]
    }

    /// Returns whether [`decide`](Self::decide) is due: a window is over, or there is a flood.
    pub(crate) fn is_due(&self, now: MonotonicTime) -> bool {
        now - self.begun >= WINDOW || f64::from(self.strangers.iter().sum::<u32>()) > MOST
    }

    /// Updates the thinning at the end of a window, in which the system has dropped `dropped`
    /// datagrams.
    pub(crate) fn decide(&mut self, now: MonotonicTime, dropped: u64) {
        let passed = (now - self.begun).nanoseconds().max(1) as f64;
        let read: u32 = self.strangers.iter().sum::<u32>() + self.known;
        // over UDP thinned-out messages count as dropped too, so the number means nothing then
        let missed = if self.is_on() || read == 0 {
            1.0
        } else {
            1.0 + dropped as f64 / f64::from(read)
        };
        let scale = missed * WINDOW.nanoseconds() as f64 / passed;
        let mut expected = self.strangers.map(|count| f64::from(count) * scale);
        let sum = |expected: &[f64; CLASSES]| expected.iter().sum::<f64>();
        if sum(&expected) > if self.is_on() { LEFT } else { MOST } {
            self.thin_out(&mut expected);
            self.calm = 0;
        } else if self.is_on() {
            self.calm += 1;
            if self.calm >= CALM {
                self.let_more_through(&expected);
                self.calm = 0;
            }
        }
        (self.begun, self.strangers, self.known) = (now, [0; CLASSES], 0);
    }

    /// Halves the largest class until the rest is small enough.
    fn thin_out(&mut self, expected: &mut [f64; CLASSES]) {
        while expected.iter().sum::<f64>() > LEFT {
            let thinnable = (0..CLASSES).filter(|class| self.exponents[*class] < LARGEST);
            let Some(most) =
                thinnable.max_by(|one, other| expected[*one].total_cmp(&expected[*other]))
            else {
                return;
            };
            self.exponents[most] += 1;
            expected[most] /= 2.0;
            if expected[most] < 1.0 {
                return;
            }
        }
    }

    /// Doubles the thinned-out classes as far as there is room.
    fn let_more_through(&mut self, expected: &[f64; CLASSES]) {
        let mut left = expected.iter().sum::<f64>();
        for (exponent, expected) in self.exponents.iter_mut().zip(expected) {
            if *exponent > 0 && left + expected <= LEFT {
                *exponent -= 1;
                left += expected;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::array;

    const SYNC: usize = 0;
    const PEER_REQUEST: usize = 2;
    const ANNOUNCE: usize = 0xb;

    /// A socket that receives this many datagrams of strangers per window; returns how many of them
    /// were read in the last one.
    struct Socket {
        thinning: Thinning,
        now: MonotonicTime,
        read: [u32; CLASSES],
    }

    impl Socket {
        fn new() -> Self {
            let now = MonotonicTime::from_nanoseconds(0);
            Self {
                thinning: Thinning::new(now),
                now,
                read: [0; CLASSES],
            }
        }

        /// `most` is the number that the program can read per window.
        fn pass(&mut self, windows: u32, arriving: &[(usize, u32)], most: u32) {
            for _ in 0..windows {
                let mut through = [0; CLASSES];
                for (class, count) in arriving {
                    through[*class] = count >> self.thinning.exponents[*class];
                }
                let sum = through.iter().sum::<u32>();
                let read = |count: u32| {
                    if sum > most {
                        (u64::from(count) * u64::from(most) / u64::from(sum)) as u32
                    } else {
                        count
                    }
                };
                self.read = array::from_fn(|class| read(through[class]));
                for (class, count) in self.read.iter().enumerate() {
                    (0..*count).for_each(|_| self.thinning.count(class, false));
                }
                self.now = self.now + WINDOW;
                self.thinning
                    .decide(self.now, sum.saturating_sub(self.read.iter().sum()).into());
            }
        }
    }

    #[test]
    fn a_flood_is_thinned_out_after_one_window_and_let_through_again_after_its_end() {
        let mut socket = Socket::new();
        socket.pass(1, &[(PEER_REQUEST, 10_000)], 2_500);
        assert_eq!(
            socket.thinning.exponents()[PEER_REQUEST],
            4,
            "as many as were dropped count as well"
        );
        socket.pass(100, &[(PEER_REQUEST, 10_000)], 2_500);
        assert_eq!(
            (
                socket.read[PEER_REQUEST],
                socket.thinning.exponents()[PEER_REQUEST]
            ),
            (625, 4)
        );
        socket.pass(40, &[], 2_500);
        assert!(!socket.thinning.is_on());
    }

    #[test]
    fn a_flood_of_one_kind_costs_no_message_of_another() {
        let mut socket = Socket::new();
        socket.pass(3, &[(SYNC, 10_000), (ANNOUNCE, 2)], 10_000);
        assert_eq!(
            (socket.read[ANNOUNCE], socket.thinning.exponents()[ANNOUNCE]),
            (2, 0)
        );
        assert!(socket.read[SYNC] <= 1_000);
    }

    #[test]
    fn a_mixture_is_a_flood_although_there_is_not_much_of_each_kind() {
        let mut socket = Socket::new();
        let mixture: Vec<_> = (0..10).map(|class| (class, 500)).collect();
        socket.pass(3, &mixture, 10_000);
        let read = socket.read.iter().sum::<u32>();
        assert!((250..=1_000).contains(&read), "{read}");
    }

    #[test]
    fn what_can_be_answered_is_not_thinned_out() {
        let mut socket = Socket::new();
        socket.pass(100, &[(PEER_REQUEST, 1_900)], 10_000);
        assert!(!socket.thinning.is_on());
    }

    #[test]
    fn a_program_that_gets_no_processor_sees_the_flood_by_what_was_dropped() {
        let mut socket = Socket::new();
        socket.pass(1, &[(PEER_REQUEST, 10_000)], 300);
        assert!(socket.thinning.exponents()[PEER_REQUEST] >= 4);
    }

    #[test]
    fn a_flood_is_due_before_its_window_is_over() {
        let (begun, mut thinning) = (
            MonotonicTime::from_nanoseconds(0),
            Thinning::new(MonotonicTime::from_nanoseconds(0)),
        );
        (0..2_001).for_each(|_| thinning.count(SYNC, false));
        let now = begun + Span::from_milliseconds(20);
        assert!(thinning.is_due(now));
        thinning.decide(now, 0);
        assert_eq!(thinning.exponents()[SYNC], 4, "10,005 come in a window");
        assert!(!thinning.is_due(now) && thinning.is_due(now + WINDOW));
    }
}
