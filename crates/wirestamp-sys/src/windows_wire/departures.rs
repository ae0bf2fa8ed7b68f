//! The sent IDs: the interface of each, and when to ask for its timestamp again. Windows must be
//! asked for each ID; the caller does.

use wirestamp_core::capability::AddressFamily;
use wirestamp_core::interface::InterfaceIndex;
use wirestamp_core::time::{MonotonicTime, Span};
use wirestamp_core::timestamp::TransmitId;

/// While somebody waits, ids are asked for at least this often: as fine as waits are timed.
const OFTEN: Span = Span::from_milliseconds(1);
/// Who waited so lately still waits: between two pauses it only collects.
const LATELY: Span = Span::from_milliseconds(4);
/// Afterwards nobody waits any more, and only late timestamps are kept from clogging the buffer.
const AWAITED_FOR: Span = Span::from_seconds(2);

/// One sent datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Departure {
    id: TransmitId,
    /// By which interface it left, where that is known.
    pub interface: Option<InterfaceIndex>,
    /// Over which protocol.
    pub family: AddressFamily,
    sent_at: MonotonicTime,
    asked_at: Option<MonotonicTime>,
}

impl Departure {
    /// Sent now under `id`.
    pub const fn new(
        id: TransmitId,
        interface: Option<InterfaceIndex>,
        family: AddressFamily,
        sent_at: MonotonicTime,
    ) -> Self {
        Self {
            id,
            interface,
            family,
            sent_at,
            asked_at: None,
        }
    }
}

/// The latest departures, in memory that is reserved once. An id finds its place by its
/// lowest bits; an overwritten one is always asked for, and its interface is unknown.
#[derive(Debug, Default)]
pub struct Departures {
    places: Vec<Option<Departure>>,
    newest: Option<MonotonicTime>,
    /// When somebody last waited for timestamps.
    waited_at: Option<MonotonicTime>,
}

impl Departures {
    /// Room for `count` of them, forgetting all.
    pub fn reserve(&mut self, count: usize) {
        let places = if count == 0 {
            0
        } else {
            count.next_power_of_two()
        };
        self.places.clear();
        self.places.resize(places, None);
        self.newest = None;
    }

    /// Remembers one.
    pub fn note(&mut self, departure: Departure) {
        self.newest = Some(departure.sent_at);
        if let Some(place) = self.place(departure.id) {
            self.places[place] = Some(departure);
        }
    }

    /// Returns the departure of `id`; `None` if it was overwritten.
    pub fn find(&self, id: TransmitId) -> Option<Departure> {
        self.place(id)
            .and_then(|place| self.places[place])
            .filter(|departure| departure.id == id)
    }

    /// Whether to ask for `id` now. Saying yes, it says no for the next eighth of the time since it
    /// was sent, while somebody waits for at most 1 ms: so ids that never come cost little.
    pub fn is_due(&mut self, id: TransmitId, now: MonotonicTime) -> bool {
        let Some(place) = self.place(id) else {
            return true;
        };
        let awaited = self
            .waited_at
            .is_some_and(|waited_at| now - waited_at < LATELY);
        match &mut self.places[place] {
            Some(departure) if departure.id == id => {
                let sent_at = departure.sent_at;
                let due = departure
                    .asked_at
                    .is_none_or(|asked_at| now >= asked_at + pause(asked_at - sent_at, awaited));
                if due {
                    departure.asked_at = Some(now);
                }
                due
            }
            _ => true,
        }
    }

    /// Somebody waits: how long, before it is worth asking again; `None` if nothing was sent.
    pub fn pause(&mut self, now: MonotonicTime) -> Option<Span> {
        self.waited_at = Some(now);
        self.newest.map(|sent_at| pause(now - sent_at, true))
    }

    fn place(&self, id: TransmitId) -> Option<usize> {
        self.places
            .len()
            .checked_sub(1)
            .map(|mask| id.0 as usize & mask)
    }
}

/// An eighth of the time since the sending: a timestamp is fetched at most so much later than it
/// could have been.
fn pause(age: Span, awaited: bool) -> Span {
    let eighth = Span::from_nanoseconds(age.nanoseconds().max(0) / 8);
    if awaited && age < AWAITED_FOR {
        eighth.min(OFTEN)
    } else {
        eighth
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanoseconds: i64) -> MonotonicTime {
        MonotonicTime::from_nanoseconds(nanoseconds)
    }

    fn departure(id: u32, sent_at: i64) -> Departure {
        Departure::new(
            TransmitId(id),
            InterfaceIndex::new(id + 1),
            AddressFamily::Ipv4,
            at(sent_at),
        )
    }

    /// Questions of an impatient caller, every 10 µs for 10 s, and the longest time without one
    /// while somebody can wait.
    fn questions(waits: bool) -> (u32, i64) {
        let mut departures = Departures::default();
        departures.reserve(4);
        departures.note(departure(9, 0));
        let mut questions = 0;
        let mut longest = 0;
        let mut last = 0;
        for now in (0..10_000_000_000).step_by(10_000) {
            if waits {
                departures.pause(at(now));
            }
            if departures.is_due(TransmitId(9), at(now)) {
                questions += 1;
                if now < AWAITED_FOR.saturating_nanoseconds() {
                    longest = longest.max(now - last);
                }
                last = now;
            }
        }
        (questions, longest)
    }

    #[test]
    fn an_id_that_never_comes_costs_few_questions() {
        let (asked, longest) = questions(true);
        assert!(asked < 2_200, "{asked} questions");
        assert!(
            longest <= OFTEN.saturating_nanoseconds() + 10_000,
            "{longest} ns without a question"
        );
    }

    #[test]
    fn while_nobody_waits_it_costs_next_to_none() {
        let (asked, longest) = questions(false);
        assert!(asked < 200, "{asked} questions");
        assert!(
            longest <= AWAITED_FOR.saturating_nanoseconds() / 8 + 10_000,
            "{longest} ns without a question"
        );
    }

    #[test]
    fn what_is_not_remembered_is_asked_for_and_of_no_known_interface() {
        let mut departures = Departures::default();
        assert!(departures.is_due(TransmitId(1), at(5)));
        assert_eq!(departures.pause(at(5)), None);
        departures.reserve(2);
        departures.note(departure(1, 0));
        departures.note(departure(3, 8_000)); // the same place
        assert_eq!(departures.find(TransmitId(1)), None);
        assert!(departures.is_due(TransmitId(1), at(1)) && departures.is_due(TransmitId(1), at(1)));
        assert_eq!(
            departures
                .find(TransmitId(3))
                .and_then(|found| found.interface),
            InterfaceIndex::new(4)
        );
        assert_eq!(
            departures.pause(at(16_000)),
            Some(Span::from_microseconds(1))
        );
    }
}
