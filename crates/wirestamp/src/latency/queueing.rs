//! The two parts of the send path, for packets with a timestamp of the queueing discipline.

use wirestamp_core::correlate::Estimate;
use wirestamp_core::latency::{self, Flight};
use wirestamp_core::time::{Bounded, Monotonic, Span};

/// Returns the time from the send call to the queueing discipline, and from there to the transmit
/// timestamp. A packet without a transmit timestamp has the first one only.
pub(super) fn parts(
    flight: &Flight,
    transmitted: Option<Estimate<Monotonic>>,
) -> [Option<Bounded<Span>>; 2] {
    let Some(queued) = flight.queued else {
        return [None, None];
    };
    let to_queue = Bounded::new(
        latency::to_queue(flight.sent, queued.at.value),
        queued.at.bound,
    );
    let from_queue = transmitted.map(|transmitted| {
        let bound = queued.at.bound + transmitted.at.bound;
        Bounded::new(
            latency::from_queue(queued.at.value, transmitted.at.value),
            bound,
        )
    });
    [Some(to_queue), from_queue]
}
