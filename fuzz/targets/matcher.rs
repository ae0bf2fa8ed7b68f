//! The matcher under any sequence of calls: every id ends exactly once, with a timestamp of its
//! own datagram or a reason; the counters add up; and nothing is left when the socket closes.

#![no_main]

use arbitrary::{Arbitrary, Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use std::collections::HashMap;
use wirestamp_core::configuration::{Source, Timestamping};
use wirestamp_core::time::{Bounded, HardwareTicks, MonotonicTime, Span};
use wirestamp_core::timestamp::{
    HardwareTimestamp, LateTimestamp, Matcher, MissingReason, Notice, SoftwareTimestamp,
    Timestamps, TransmitAnswer, TransmitId, TransmitOutcome, TransmitRecord,
};

const MICROSECOND: i64 = 1_000;
/// Few ids, so that they are used again and again.
const IDS: u8 = 3;

/// One of our ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Id(u8);

impl<'a> Arbitrary<'a> for Id {
    fn arbitrary(bytes: &mut Unstructured<'a>) -> Result<Self> {
        Ok(Self(u8::arbitrary(bytes)? % IDS))
    }
}

impl From<Id> for TransmitId {
    fn from(id: Id) -> Self {
        Self(id.0.into())
    }
}

#[derive(Arbitrary, Debug)]
enum Step {
    Begin(Id),
    Cancel(Id),
    /// Timestamps of one of the last datagrams, counted back.
    Timestamp {
        back: u8,
        software: bool,
        hardware: bool,
    },
    /// Timestamps for an id that is never sent.
    Foreign(u32),
    Lost(Id, u8),
    /// A whole use of an id that ends without its timestamp, which could come later.
    WithoutTimestamp(Id),
    Overflow,
    Notice(u8),
    Pass(Wait),
    Fetch(Id),
    Batch(u8),
    Configure {
        capacity: Option<u8>,
        source: u8,
        deadline: Option<u8>,
    },
    Reset,
    Close,
}

/// Around the deadlines, or around what the matcher remembers.
#[derive(Arbitrary, Debug, Clone, Copy)]
enum Wait {
    Milliseconds(u8),
    Seconds(u8),
}

impl Wait {
    fn nanoseconds(self) -> i64 {
        match self {
            Self::Milliseconds(count) => i64::from(count) * 1_000 * MICROSECOND,
            Self::Seconds(count) => i64::from(count % 16) * 1_000_000 * MICROSECOND,
        }
    }
}

/// One datagram: what is true of it, and what was said of it.
struct Datagram {
    id: Id,
    begun: MonotonicTime,
    cancelled: bool,
    told: bool,
    software_came: bool,
    hardware_came: bool,
}

#[derive(Default)]
struct Ledger {
    now: i64,
    sent: Vec<Datagram>,
    last: HashMap<Id, usize>,
    capacity: Option<u8>,
    told_timestamped: u64,
    told_lost: [u64; MissingReason::ALL.len()],
}

impl Ledger {
    fn time(&self) -> MonotonicTime {
        MonotonicTime::from_nanoseconds(self.now)
    }

    fn is_last(&self, datagram: usize) -> bool {
        self.last[&self.sent[datagram].id] == datagram
    }

    /// The one true timestamps of a datagram; no other has these.
    fn truth(&self, datagram: usize, software: bool, hardware: bool) -> Timestamps {
        let at = self.sent[datagram].begun + Span::from_nanoseconds(1);
        let software = software.then_some(SoftwareTimestamp::new(Bounded::exact(at)));
        let ticks = HardwareTicks::new(datagram as u64 + 1);
        let hardware = hardware.then_some(HardwareTimestamp {
            ticks,
            interface: None,
            read_at: self.time(),
        });
        Timestamps::new(software, hardware)
    }

    fn check_truth(&self, timestamps: &Timestamps, datagram: usize) {
        let truth = self.truth(datagram, true, true);
        assert!(!timestamps.is_none(), "timestamped without a timestamp");
        assert!(
            timestamps
                .software
                .is_none_or(|timestamp| Some(timestamp) == truth.software),
            "another datagram's timestamp"
        );
        let ticks = |timestamp: HardwareTimestamp| timestamp.ticks;
        assert!(
            timestamps
                .hardware
                .is_none_or(|timestamp| Some(ticks(timestamp)) == truth.hardware.map(ticks))
        );
        let Datagram {
            software_came,
            hardware_came,
            ..
        } = self.sent[datagram];
        assert!(
            timestamps.software.is_none() || software_came,
            "a timestamp that never came"
        );
        assert!(
            timestamps.hardware.is_none() || hardware_came,
            "a timestamp that never came"
        );
    }

    fn tell(&mut self, id: TransmitId, outcome: &TransmitOutcome) {
        let datagram = self.last[&Id(u8::try_from(id.0).expect("an id of ours"))];
        assert!(!self.sent[datagram].told, "told twice");
        assert!(!self.sent[datagram].cancelled, "told of a failed send");
        self.sent[datagram].told = true;
        match outcome {
            TransmitOutcome::Timestamped(timestamps) => {
                self.check_truth(timestamps, datagram);
                self.told_timestamped += 1;
            }
            TransmitOutcome::Missing(reason) => self.told_lost[*reason as usize] += 1,
        }
    }

    fn open(&self, id: Id) -> Option<usize> {
        let datagram = *self.last.get(&id)?;
        (!self.sent[datagram].told && !self.sent[datagram].cancelled).then_some(datagram)
    }
}

fuzz_target!(|steps: Vec<Step>| {
    let (mut matcher, mut ledger) = (Matcher::new(), Ledger::default());
    configure(Some(8), 0, Some(50), &mut matcher, &mut ledger);
    for step in &steps {
        ledger.now += MICROSECOND; // no two datagrams begin at the same time
        apply(step, &mut matcher, &mut ledger);
        check_counters(&matcher, &ledger);
    }
    matcher.close(ledger.time());
    while batch(7, &mut matcher, &mut ledger) > 0 {}
    let counters = matcher.counters();
    assert_eq!(counters.pending, 0);
    let missing = std::array::from_fn(|place| counters.missing_for(MissingReason::ALL[place]));
    assert_eq!(
        (counters.timestamped, missing),
        (ledger.told_timestamped, ledger.told_lost)
    );
    assert!(
        ledger.last.keys().all(|id| ledger.open(*id).is_none()),
        "an id never ended"
    );
});

fn apply(step: &Step, matcher: &mut Matcher, ledger: &mut Ledger) {
    let now = ledger.time();
    match *step {
        Step::Begin(id) => {
            if matcher.begin(id.into(), now).is_ok() {
                assert_eq!(ledger.open(id), None, "an id began twice");
                ledger.last.insert(id, ledger.sent.len());
                let (software_came, hardware_came) = (false, false);
                let datagram = Datagram {
                    id,
                    begun: now,
                    cancelled: false,
                    told: false,
                    software_came,
                    hardware_came,
                };
                ledger.sent.push(datagram);
            }
        }
        Step::Cancel(id) => {
            matcher.cancel(id.into());
            if let Some(datagram) = ledger.open(id) {
                ledger.sent[datagram].cancelled = true;
            }
        }
        Step::Timestamp {
            back,
            software,
            hardware,
        } => timestamp(back, software, hardware, matcher, ledger),
        Step::Foreign(id) => {
            let ticks = HardwareTicks::new(u64::MAX);
            let hardware = Some(HardwareTimestamp {
                ticks,
                interface: None,
                read_at: now,
            });
            let id = TransmitId(id | 1 << 8); // no id of ours
            matcher.timestamped(id, &Timestamps::new(None, hardware));
            let off = ledger.capacity.is_none();
            assert_eq!(
                matcher.fetch(id, now),
                if off {
                    TransmitAnswer::NotEnabled
                } else {
                    TransmitAnswer::Unknown
                }
            );
        }
        Step::Lost(id, reason) => {
            let reason = MissingReason::ALL[usize::from(reason) % MissingReason::ALL.len()];
            matcher.lost(id.into(), reason);
        }
        Step::WithoutTimestamp(id) => {
            for step in [Step::Begin(id), Step::Lost(id, 1), Step::Fetch(id)] {
                ledger.now += MICROSECOND;
                apply(&step, matcher, ledger);
            }
        }
        Step::Overflow => matcher.overflowed(),
        Step::Notice(code) => {
            let notice = Notice::Other {
                origin: 9,
                code: code.into(),
            };
            matcher.notice(notice);
            let mut out = [Notice::ZeroCopy { first: 0, last: 0 }; 2];
            assert_eq!((matcher.take_notices(&mut out), out[0]), (1, notice));
        }
        Step::Pass(time) => ledger.now += time.nanoseconds(),
        Step::Fetch(id) => match matcher.fetch(id.into(), now) {
            TransmitAnswer::Resolved(outcome) => ledger.tell(id.into(), &outcome),
            TransmitAnswer::Pending => assert!(ledger.open(id).is_some(), "waits for nothing"),
            TransmitAnswer::NotEnabled | TransmitAnswer::Unknown => {
                assert_eq!(ledger.open(id), None, "an id was dropped")
            }
            other => panic!("an answer that is new: {other:?}"),
        },
        Step::Batch(count) => _ = batch(count.into(), matcher, ledger),
        Step::Configure {
            capacity,
            source,
            deadline,
        } => configure(capacity, source, deadline, matcher, ledger),
        Step::Reset => matcher.reset(now),
        Step::Close => matcher.close(now),
    }
}

fn timestamp(back: u8, software: bool, hardware: bool, matcher: &mut Matcher, ledger: &mut Ledger) {
    let Some(datagram) = ledger.sent.len().checked_sub(usize::from(back % 8) + 1) else {
        return;
    };
    if ledger.sent[datagram].cancelled {
        return; // a failed send is never timestamped
    }
    // A hardware timestamp does not say when it was made: one of an earlier use of its id can be
    // told apart only as long as the matcher refuses to use the id again.
    let hardware = hardware && ledger.is_last(datagram);
    let timestamps = ledger.truth(datagram, software, hardware);
    let id = TransmitId::from(ledger.sent[datagram].id);
    ledger.sent[datagram].software_came |= software;
    ledger.sent[datagram].hardware_came |= hardware;
    matcher.timestamped(id, &timestamps);
    let mut late = [LateTimestamp::EMPTY; 2];
    let count = matcher.late(&mut late);
    for timestamp in &late[..count] {
        assert_eq!(timestamp.id, id);
        assert!(
            ledger.is_last(datagram),
            "an old timestamp was given to a new datagram"
        );
        ledger.check_truth(&timestamp.timestamps, datagram);
    }
}

fn batch(room: usize, matcher: &mut Matcher, ledger: &mut Ledger) -> usize {
    let mut out = vec![TransmitRecord::EMPTY; room];
    let count = matcher.fetch_batch(ledger.time(), &mut out);
    out[..count]
        .iter()
        .for_each(|record| ledger.tell(record.id, &record.outcome));
    count
}

fn configure(
    capacity: Option<u8>,
    source: u8,
    deadline: Option<u8>,
    matcher: &mut Matcher,
    ledger: &mut Ledger,
) {
    let sources = [
        Source::Software,
        Source::Hardware,
        Source::HardwareElseSoftware,
        Source::Both,
    ];
    let mut wanted = Timestamping::new().source(sources[usize::from(source) % sources.len()]);
    wanted.transmit = capacity.map(u16::from);
    wanted.transmit_deadline =
        deadline.map(|milliseconds| Span::from_milliseconds(milliseconds.into()));
    matcher.configure(&wanted, ledger.time());
    ledger.capacity = capacity;
    assert_eq!(matcher.awaited(), 0, "what was awaited ends as reset");
}

fn check_counters(matcher: &Matcher, ledger: &Ledger) {
    let counters = matcher.counters();
    assert_eq!(
        counters.sent,
        counters.pending + counters.timestamped + counters.missing_in_all()
    );
    assert_eq!(counters.pending, matcher.awaited() as u64);
    assert_eq!(
        counters.sent,
        ledger
            .sent
            .iter()
            .filter(|datagram| !datagram.cancelled)
            .count() as u64
    );
    assert_eq!(counters.forgotten, 0, "a few ids always find room");
    assert!(
        matcher.waiting() <= usize::from(ledger.capacity.unwrap_or(0)),
        "more timestamps wait than the buffer holds"
    );
    let open = matcher.open_ids().take(usize::from(IDS) + 1).count();
    assert!(open <= usize::from(IDS), "asks in circles");
    assert!(open >= matcher.awaited(), "an awaited id is not asked for");
}
