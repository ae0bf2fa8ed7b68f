//! Change notifications. Windows reports only that *some* configuration or interface has changed, so
//! this compares lists to find which one. It also compares them every second, because a
//! notification between two lists may be missed.

use super::call::InterfaceChanges;
use super::config_change::ConfigurationChanges;
use super::error::system_error;
use super::handle::{self, Event};
use super::{clock, interface};
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::thread;
use wirestamp_core::Result;
use wirestamp_core::backend::{Change, ChangeKind, ChangeSink};
use wirestamp_core::interface::{InterfaceDescription, InterfaceIndex};
use wirestamp_core::time::Span;

/// How often the list is looked at without a report.
const PERIOD: Span = Span::from_seconds(1);

/// A running subscription; dropping it ends it without waiting.
#[derive(Debug)]
pub struct Subscription {
    stop: Arc<Event>,
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.stop.set();
    }
}

/// Reports every change from now on to `sink`, on a thread of its own.
pub(super) fn subscribe(sink: ChangeSink) -> Result<Subscription> {
    let failed = |error: io::Error| system_error("watch for changes", "this system", &error);
    let event = || Event::new().map(Arc::new).map_err(failed);
    let (stop, configured, changed) = (event()?, event()?, event()?);
    // Listens first and looks second: what changes in between is reported, not lost.
    let configurations = ConfigurationChanges::subscribe(&configured)?;
    let interfaces = InterfaceChanges::subscribe(&changed).ok();
    let known = interface::list()?
        .into_iter()
        .map(|link| (link.index, without_addresses(link)))
        .collect();
    let subscription = Subscription {
        stop: Arc::clone(&stop),
    };
    let mut watcher = Watcher {
        sink,
        stop,
        configured,
        changed,
        known,
        _configurations: configurations,
        _interfaces: interfaces,
    };
    thread::Builder::new()
        .name("wirestamp-watch".into())
        .spawn(move || watcher.run())
        .map_err(failed)?;
    Ok(subscription)
}

struct Watcher {
    sink: ChangeSink,
    stop: Arc<Event>,
    configured: Arc<Event>,
    changed: Arc<Event>,
    known: BTreeMap<InterfaceIndex, InterfaceDescription>,
    /// Both end on this thread, where none of the system's callbacks runs: ending them waits
    /// for a running one.
    _configurations: Option<ConfigurationChanges>,
    _interfaces: Option<InterfaceChanges>,
}

impl Watcher {
    fn run(&mut self) {
        self.run_with(|watcher| {
            handle::wait(
                &[&watcher.stop, &watcher.configured, &watcher.changed],
                clock::now() + PERIOD,
            )
        });
    }

    /// Runs until the subscription is dropped. A wait that fails ends nothing: the system may be short
    /// of memory for a moment. Comparing the lists finds the missed changes, or they are reported as unknown.
    fn run_with(&mut self, mut wait: impl FnMut(&Self) -> io::Result<Option<usize>>) {
        loop {
            match wait(self) {
                Ok(Some(0)) => return,
                Err(_) => {
                    thread::sleep(PERIOD.to_duration());
                    if Arc::strong_count(&self.stop) == 1 {
                        return; // the subscription is gone, and its event could not be waited for
                    }
                    self.report(None, ChangeKind::Configuration);
                    self.look();
                }
                Ok(Some(1)) => {
                    self.configured.reset();
                    self.report(None, ChangeKind::Configuration);
                }
                Ok(Some(_)) => {
                    self.changed.reset();
                    self.look();
                }
                Ok(None) => self.look(),
            }
        }
    }

    fn report(&mut self, interface: Option<InterfaceIndex>, kind: ChangeKind) {
        (self.sink)(Change { interface, kind });
    }

    fn look(&mut self) {
        let Ok(listed) = interface::list() else {
            return;
        };
        let now: BTreeMap<_, _> = listed
            .into_iter()
            .map(|link| (link.index, without_addresses(link)))
            .collect();
        let before = std::mem::replace(&mut self.known, now);
        for (index, kind) in differences(&before, &self.known) {
            self.report(Some(index), kind);
        }
    }
}

type Known = BTreeMap<InterfaceIndex, InterfaceDescription>;

/// What differs between two lists.
fn differences(before: &Known, now: &Known) -> Vec<(InterfaceIndex, ChangeKind)> {
    let gone = before
        .keys()
        .filter(|index| !now.contains_key(index))
        .map(|index| (*index, ChangeKind::Removed));
    let new = now
        .keys()
        .filter(|index| !before.contains_key(index))
        .map(|index| (*index, ChangeKind::Added));
    let other = now
        .iter()
        .filter(|(index, link)| before.get(index).is_some_and(|known| known != *link));
    gone.chain(new)
        .chain(other.map(|(index, _)| (*index, ChangeKind::Link)))
        .collect()
}

fn without_addresses(mut link: InterfaceDescription) -> InterfaceDescription {
    link.addresses.clear();
    link
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(entries: &[(u32, &str)]) -> Known {
        let describe = |(index, name): &(u32, &str)| {
            let index = InterfaceIndex::new(*index).expect("not zero");
            (index, InterfaceDescription::new(*name, index))
        };
        entries.iter().map(describe).collect()
    }

    #[test]
    fn what_came_went_and_was_renamed_is_told_by_number() {
        let before = list(&[(1, "Loopback"), (2, "Ethernet"), (3, "Wi-Fi")]);
        let now = list(&[(1, "Loopback"), (3, "WLAN"), (4, "Ethernet 2")]);
        let number = |(index, kind): (InterfaceIndex, ChangeKind)| (index.get(), kind);
        let told: Vec<_> = differences(&before, &now).into_iter().map(number).collect();
        assert_eq!(
            told,
            [
                (2, ChangeKind::Removed),
                (4, ChangeKind::Added),
                (3, ChangeKind::Link)
            ]
        );
    }

    #[test]
    fn a_wait_that_fails_ends_nothing_and_may_have_missed_a_change() {
        let event = || Arc::new(Event::new().expect("an event"));
        let (sender, told) = std::sync::mpsc::channel();
        let mut watcher = Watcher {
            sink: Box::new(move |change| sender.send(change).expect("the test listens")),
            stop: event(),
            configured: event(),
            changed: event(),
            known: interface::list()
                .expect("listed")
                .into_iter()
                .map(|link| (link.index, without_addresses(link)))
                .collect(),
            _configurations: None,
            _interfaces: None,
        };
        let subscription = Subscription {
            stop: Arc::clone(&watcher.stop),
        };
        let mut answers = [
            Err(io::ErrorKind::OutOfMemory.into()),
            Ok(Some(1)),
            Ok(Some(0)),
        ]
        .into_iter();
        watcher.run_with(|_| answers.next().expect("it ends when told"));
        assert_eq!(
            told.try_iter()
                .filter(|change| change.kind == ChangeKind::Configuration)
                .count(),
            2
        );
        drop(subscription);
        let mut waits = 0;
        watcher.run_with(|_| {
            waits += 1;
            Err(io::ErrorKind::OutOfMemory.into())
        });
        assert_eq!(waits, 1, "nobody listens any more");
    }

    #[test]
    fn a_subscription_can_be_dropped_by_its_own_sink() {
        let subscription = subscribe(Box::new(|_| {})).expect("subscribed");
        drop(subscription);
    }
}
