//! The map from the kernel's counts to ids, against a list of all sends.

#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use wirestamp_core::time::MonotonicTime;
use wirestamp_core::timestamp::{CountRules, CounterMap, CounterState, SendFailure, TransmitId};

/// Of how much time a step passes: up to fifteen times the quarantine.
const TICK: i64 = 1_000_000;

#[derive(Arbitrary, Debug)]
enum Step {
    Send(u32),
    Fail(Failure),
    /// The timestamp of the count that lies so far back from the next.
    Take(u8),
    Foreign(u32),
    Pass(u16),
    Restart,
}

#[derive(Arbitrary, Debug, Clone, Copy)]
enum Failure {
    NoRoom,
    TooLong,
    NoDestination,
    Other,
}

impl Failure {
    fn named(self) -> SendFailure {
        match self {
            Self::NoRoom => SendFailure::NoRoom,
            Self::TooLong => SendFailure::TooLong,
            Self::NoDestination => SendFailure::NoDestination,
            Self::Other => SendFailure::Other,
        }
    }

    /// Whether the kernel may have counted it.
    fn is_ambiguous(self, fixed: bool) -> bool {
        match self {
            Self::NoDestination => false,
            Self::NoRoom | Self::TooLong => !fixed,
            Self::Other => true,
        }
    }
}

struct Sent {
    id: TransmitId,
    at: i64,
    taken: bool,
}

/// Every send since the last restart: its place in the list is its count.
#[derive(Default)]
struct Ledger {
    sent: Vec<Sent>,
    unsure: bool,
    now: i64,
    /// Whether the kernel has all fixes.
    fixed: bool,
}

impl Ledger {
    fn time(&self) -> MonotonicTime {
        MonotonicTime::from_nanoseconds(self.now)
    }

    /// Known is what was sent, not taken, and not pushed out by one `size` sends later.
    fn known(&self, count: u32, size: usize) -> Option<TransmitId> {
        let sent = self.sent.get(count as usize).filter(|sent| !sent.taken)?;
        (count as usize + size >= self.sent.len()).then_some(sent.id)
    }

    fn may_restart(&self) -> bool {
        self.sent.iter().filter(|sent| !sent.taken).all(|sent| {
            self.time() - MonotonicTime::from_nanoseconds(sent.at) >= CounterMap::QUARANTINE
        })
    }
}

fuzz_target!(|input: (u8, bool, Vec<Step>)| {
    let (capacity, fixed, steps) = input;
    let size = usize::from(capacity).max(1).next_power_of_two();
    let rules = if fixed {
        CountRules::FIXED
    } else {
        CountRules::UNKNOWN
    };
    let mut map = CounterMap::with_room(capacity.into(), rules);
    let mut ledger = Ledger {
        fixed,
        ..Ledger::default()
    };
    for step in steps {
        apply(&step, &mut map, &mut ledger, size);
        assert_eq!(map.state() == CounterState::Unsure, ledger.unsure);
        assert_eq!(map.may_restart(ledger.time()), ledger.may_restart());
        let first = ledger.sent.len().saturating_sub(size);
        assert_eq!(
            map.outstanding(),
            ledger.sent[first..]
                .iter()
                .filter(|sent| !sent.taken)
                .count()
        );
    }
});

fn apply(step: &Step, map: &mut CounterMap, ledger: &mut Ledger, size: usize) {
    match *step {
        Step::Send(id) => {
            map.sent(TransmitId(id), ledger.time());
            if !ledger.unsure {
                ledger.sent.push(Sent {
                    id: TransmitId(id),
                    at: ledger.now,
                    taken: false,
                });
            }
        }
        Step::Fail(failure) => {
            map.failed(failure.named());
            ledger.unsure |= failure.is_ambiguous(ledger.fixed);
        }
        Step::Take(back) => take(
            (ledger.sent.len() as u32).wrapping_sub(u32::from(back)),
            map,
            ledger,
            size,
        ),
        Step::Foreign(count) => take(count, map, ledger, size),
        Step::Pass(time) => ledger.now += TICK * i64::from(time),
        Step::Restart => {
            let expected = ledger.may_restart();
            assert_eq!(map.restart(ledger.time()), expected);
            if expected {
                *ledger = Ledger {
                    now: ledger.now,
                    fixed: ledger.fixed,
                    ..Ledger::default()
                };
            }
        }
    }
}

fn take(count: u32, map: &mut CounterMap, ledger: &mut Ledger, size: usize) {
    let expected = ledger.known(count, size);
    assert_eq!(map.look_up(count), expected);
    assert_eq!(map.take(count), expected);
    assert_eq!(map.take(count), None, "told twice");
    if expected.is_some() {
        ledger.sent[count as usize].taken = true;
    }
}
