//! A connection that two NICs of a host share, in one file: what one NIC sends hides no loss of the other's.

use super::build::{ACK, Ng, tcp};
use super::copies::sll2;
use super::{MS, START, compared, file, only};
use proptest::prelude::*;
use wirestamp_capture::compare::{FlowReport, Options};

/// A segment: the NIC that sends it; if it is lost, the NIC that sends it again, and after how many milliseconds.
type Sent = (u8, Option<(u8, u64)>);

/// A segment each millisecond. The other capture has those that arrived, 500 µs later.
fn shared(segments: &[Sent]) -> FlowReport {
    let (mut sent, mut arrived) = (Vec::new(), Vec::new());
    for (number, (nic, lost)) in (0..).zip(segments) {
        let at = u64::from(number) * MS;
        let first = tcp(number * 1_000, number as u16 + 1, ACK, 1_000);
        sent.push((at, *nic, first.clone()));
        let Some((nic, after)) = lost else {
            arrived.push((at + MS / 2, first));
            continue;
        };
        let again = tcp(number * 1_000, number as u16 + 1_001, ACK, 1_000);
        let at = at + after * MS + 1;
        sent.push((at, *nic, again.clone()));
        arrived.push((at + MS / 2, again));
    }
    sent.sort_by_key(|(at, ..)| *at);
    arrived.sort_by_key(|(at, _)| *at);
    let mut near = Ng::of(276);
    for (at, nic, data) in &sent {
        near.whole(START + at, &sll2(*nic, 4, data), "");
    }
    let report = compared(&near.bytes, &file(&arrived), Options::default());
    only(&report).clone()
}

fn counts(flow: &FlowReport) -> (u64, u64, [u64; 2], [u64; 2]) {
    (flow.lost, flow.extra, flow.undecided, flow.resegmented)
}

#[test]
fn a_segment_that_is_sent_again_while_the_other_nic_sends_was_lost() {
    for again in [1, 2] {
        let mut segments: Vec<Sent> = (0..60).map(|number| (1 + number % 2, None)).collect();
        segments[20].1 = Some((again, 30));
        let flow = shared(&segments);
        assert_eq!(counts(&flow), (1, 0, [0, 0], [0, 0]), "{again}: {flow:?}");
    }
}

proptest! {
    #[test]
    fn nics_that_share_a_connection_lose_what_they_lost(
        segments in proptest::collection::vec(
            (1_u8..4, prop::option::weighted(0.2, (1_u8..4, 11_u64..60))),
            1..60,
        )
    ) {
        let mut segments: Vec<Sent> = segments;
        // both captures begin and end with the same segment
        segments.insert(0, (1, None));
        segments.extend(vec![(1, None); 70]);
        let lost = segments.iter().filter(|(_, lost)| lost.is_some()).count() as u64;
        let flow = shared(&segments);
        prop_assert_eq!(counts(&flow), (lost, 0, [0, 0], [0, 0]), "{:?}", flow);
    }
}
