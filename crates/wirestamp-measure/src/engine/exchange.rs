//! Exchanges the measurements of an engine for others.

use crate::slot::Slot;
use crate::wanted::Wanted;

/// How many measurements run on, are new and ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchanged {
    /// Those in both sets.
    pub kept: usize,
    /// Those that are new.
    pub opened: usize,
    /// Those that nobody asks for any more.
    pub ended: usize,
}

/// Keeps the slots of measurements that are still wanted.
pub(super) fn exchange(slots: &mut Vec<Slot>, wanted: Vec<Wanted>) -> Exchanged {
    let before = slots.len();
    // sessions are numbered by themselves: they are the last
    let others = wanted.iter().take_while(|one| !one.is_session()).count();
    let mut old: Vec<_> = std::mem::take(slots).into_iter().map(Some).collect();
    let mut missing = Vec::new();
    let mut places = Vec::new();
    for one in wanted {
        match old
            .iter_mut()
            .find(|slot| slot.as_ref().is_some_and(|slot| slot.wanted == one))
            .and_then(Option::take)
        {
            Some(slot) => places.push(Some(slot)),
            None => {
                places.push(None);
                missing.push(one);
            }
        }
    }
    // measurements that end give up their ports before others open theirs
    drop(old);
    let opened = missing.len();
    let mut missing = missing.into_iter();
    slots.extend(
        places
            .into_iter()
            .enumerate()
            .filter_map(|(number, place)| {
                let number = number.saturating_sub(others);
                place.or_else(|| Some(Slot::new(missing.next()?, number)))
            }),
    );
    let kept = slots.len() - opened;
    Exchanged {
        kept,
        opened,
        ended: before - kept,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{Clocks, Measurements, Ntp, Stamp};

    #[test]
    fn sessions_are_numbered_by_themselves_whatever_else_is_measured() {
        let asked = || Measurements::default().clocks(Clocks::default());
        let wanted = |asked: &Measurements| Wanted::of(asked, &["eth0".to_owned()]);
        let numbers = |slots: &[Slot]| -> Vec<usize> {
            let sessions = slots.iter().filter(|slot| slot.wanted.is_session());
            sessions.map(|slot| slot.number).collect()
        };
        let stamp = |peer: u8| Stamp::with(format!("192.0.2.{peer}"));
        let mut slots = Vec::new();
        exchange(&mut slots, wanted(&asked().stamp(stamp(1)).stamp(stamp(2))));
        assert_eq!(numbers(&slots), [0, 1]);
        let more = asked().ntp(Ntp::of("192.0.2.1"));
        let more = more.stamp(stamp(1)).stamp(stamp(3)).stamp(stamp(2));
        exchange(&mut slots, wanted(&more));
        assert_eq!(numbers(&slots), [0, 1, 1], "who runs on keeps its number");
    }
}
