//! Owns reports of change. Windows tells that *some* configuration or interface has changed;
//! which one, this finds out by looking again. Looks every second besides: a report may be
//! missed between two lists.

use super::call::InterfaceChanges;
use super::config_change::ConfigurationChanges;
use super::error::system_error;
use super::handle::{self, Event};
use super::{clock, interface};
use std::collections::BTreeMap;
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
    let failed = |error: std::io::Error| system_error("watch for changes", "this system", &error);
    let event = || Event::new().map(Arc::new).map_err(failed);
    let (stop, configured, changed) = (event()?, event()?, event()?);
    // Listens first and looks second: what changes in between is reported, not lost.
    let configurations = ConfigurationChanges::subscribe(&configured)?;
    let interfaces = InterfaceChanges::subscribe(&changed).ok();
    let known = interface::list()?.into_iter().map(|link| (link.index, without_addresses(link))).collect();
    let subscription = Subscription { stop: Arc::clone(&stop) };
    let mut watcher =
        Watcher { sink, stop, configured, changed, known, _configurations: configurations, _interfaces: interfaces };
    thread::Builder::new().name("wirestamp-watch".into()).spawn(move || watcher.run()).map_err(failed)?;
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
        loop {
            let until = clock::now() + PERIOD;
            match handle::wait(&[&self.stop, &self.configured, &self.changed], until) {
                Ok(Some(0)) | Err(_) => return,
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
        let Ok(listed) = interface::list() else { return };
        let now: BTreeMap<_, _> = listed.into_iter().map(|link| (link.index, without_addresses(link))).collect();
        let before = std::mem::replace(&mut self.known, now);
        for (index, kind) in differences(&before, &self.known) {
            self.report(Some(index), kind);
        }
    }
}

type Known = BTreeMap<InterfaceIndex, InterfaceDescription>;

/// What differs between two lists.
fn differences(before: &Known, now: &Known) -> Vec<(InterfaceIndex, ChangeKind)> {
    let gone = before.keys().filter(|index| !now.contains_key(index)).map(|index| (*index, ChangeKind::Removed));
    let new = now.keys().filter(|index| !before.contains_key(index)).map(|index| (*index, ChangeKind::Added));
    let other = now.iter().filter(|(index, link)| before.get(index).is_some_and(|known| known != *link));
    gone.chain(new).chain(other.map(|(index, _)| (*index, ChangeKind::Link))).collect()
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
        assert_eq!(told, [(2, ChangeKind::Removed), (4, ChangeKind::Added), (3, ChangeKind::Link)]);
    }

    #[test]
    fn a_subscription_can_be_dropped_by_its_own_sink() {
        let subscription = subscribe(Box::new(|_| {})).expect("subscribed");
        drop(subscription);
    }
}
