//! Watches the interfaces of this host: what they timestamp, and what changes.

use crate::event::EventKind;
use crate::place::Place;
use crate::sink::Sink;
use crate::state::{InterfaceState, Reasons};
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, channel};
use wirestamp::interface::ChangeEvent;
use wirestamp::{MonotonicTime, Result, Span, Watch};

/// The interval at which all interfaces are queried even if no change is reported.
const ASK: Span = Span::from_seconds(60);
/// The shortest interval between two queries: changes come in storms.
const STORM: Span = Span::from_milliseconds(250);

/// Whose changes are counted where the system does not say which interface changed.
const ANY: &str = "any";

/// The state of the interfaces.
pub(crate) struct Interfaces {
    _watch: Watch,
    reported: Receiver<ChangeEvent>,
    known: Vec<InterfaceState>,
    names: BTreeMap<u32, String>,
    changes: BTreeMap<String, Reasons>,
    pending: bool,
    asked: MonotonicTime,
}

impl Interfaces {
    pub(crate) fn new(place: &Place) -> Result<Self> {
        let (sender, reported) = channel();
        let watch = place.watch(move |event| {
            let _ = sender.send(*event);
        })?;
        let mut new = Self {
            _watch: watch,
            reported,
            known: Vec::new(),
            names: BTreeMap::new(),
            changes: BTreeMap::new(),
            pending: false,
            asked: MonotonicTime::MIN,
        };
        new.ask(place);
        Ok(new)
    }

    /// Names of those that have a PTP hardware clock.
    pub(crate) fn with_clocks(&self) -> Vec<String> {
        let with = self
            .known
            .iter()
            .filter(|interface| interface.hardware_clock.is_some());
        with.map(|interface| interface.name.clone()).collect()
    }

    /// Takes what was reported; returns whether which of them have clocks changed.
    pub(crate) fn serve(&mut self, place: &Place, now: MonotonicTime, sink: &mut dyn Sink) -> bool {
        for event in self.reported.try_iter() {
            self.pending = true;
            let name = event
                .interface
                .and_then(|index| self.names.get(&index.get()))
                .map_or(ANY, String::as_str);
            *self
                .changes
                .entry(name.to_owned())
                .or_default()
                .entry(event.kind.name().to_owned())
                .or_default() += 1;
        }
        let wait = if self.pending { STORM } else { ASK };
        if self.asked != MonotonicTime::MIN && now - self.asked < wait {
            return false;
        }
        let is_first = self.asked == MonotonicTime::MIN;
        self.asked = now;
        self.pending = false;
        let (clocks, before) = (self.with_clocks(), self.known.clone());
        self.ask(place);
        if !is_first {
            self.tell(&before, sink);
        }
        clocks != self.with_clocks()
    }

    fn ask(&mut self, place: &Place) {
        let Ok(found) = place.interfaces() else {
            return;
        };
        self.names = found
            .iter()
            .map(|interface| (interface.index().get(), interface.name().to_owned()))
            .collect();
        let known = found.iter().map(|interface| {
            let description = interface.description();
            let configuration = description
                .hardware_clock
                .and_then(|_| interface.configuration().ok());
            InterfaceState {
                name: description.name.clone(),
                state: description.state.name().to_owned(),
                hardware_clock: description.hardware_clock,
                transmit: configuration.map(|configuration| configuration.transmit),
                receive: configuration.map(|configuration| configuration.receive.name().to_owned()),
                cross_timestamp: interface
                    .supported()
                    .ok()
                    .map(|supported| supported.cross_timestamp),
                changes: Reasons::new(),
            }
        });
        self.known = known.collect();
        // interfaces of containers come and go under ever new names
        let names = &self.names;
        self.changes
            .retain(|name, _| name == ANY || names.values().any(|known| known == name));
    }

    /// Returns what differs from before.
    fn tell(&self, before: &[InterfaceState], sink: &mut dyn Sink) {
        for now in &self.known {
            match before.iter().find(|known| known.name == now.name) {
                None => {
                    sink.event(
                        EventKind::Interface,
                        &now.name,
                        "the interface appeared".to_owned(),
                    );
                }
                Some(known) => {
                    if known.state != now.state {
                        sink.event(
                            EventKind::Interface,
                            &now.name,
                            format!("the interface is {}, it was {}", now.state, known.state),
                        );
                    }
                    if (known.transmit, &known.receive) != (now.transmit, &now.receive) {
                        let receive = now.receive.as_deref().unwrap_or("unknown");
                        let transmit = now
                            .transmit
                            .map_or("unknown", |on| if on { "on" } else { "off" });
                        sink.event(EventKind::Interface, &now.name, format!("hardware timestamping changed: transmit {transmit}, receive {receive}"));
                    }
                }
            }
        }
        for gone in before
            .iter()
            .filter(|known| self.known.iter().all(|now| now.name != known.name))
        {
            sink.event(
                EventKind::Interface,
                &gone.name,
                "the interface went away".to_owned(),
            );
        }
    }

    pub(crate) fn show(&self) -> Vec<InterfaceState> {
        let with_changes = |known: &InterfaceState| InterfaceState {
            changes: self.changes.get(&known.name).cloned().unwrap_or_default(),
            ..known.clone()
        };
        self.known.iter().map(with_changes).collect()
    }
}
