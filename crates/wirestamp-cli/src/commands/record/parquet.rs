//! `record --parquet`: writes the recording as rows of Parquet files. UTC comes from the library, or there is none.

use crate::arguments;
use crate::commands::recordings;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use wirestamp::time::Frequency;
use wirestamp::{
    ConversionError, CorrelatorOptions, CrossTimestamp, Error, HardwareTimestamp, HostClock,
    Interface, TimestampPolicy, Timestamps,
};
use wirestamp_record::{
    ClockEstimate, Cross, Direction, Options, Recorder, Source, Timestamp, flow_of,
};

/// Why a clock has no offset to UTC: its ticks are no nanoseconds.
const OTHER_UNIT: &str = "not_nanoseconds";

/// So much waits at most: the oldest of more has no time.
const MOST_WAITING: usize = 1 << 16;
/// The clock is read at least so often, so that times are final soon.
const PERIOD: Duration = Duration::from_secs(1);

/// In nanoseconds, with its error bound; or why there is none.
type Utc = Result<(i64, u64), &'static str>;

/// A timestamp whose time may still turn out to be wrong.
struct Waiting {
    timestamp: HardwareTimestamp,
    /// The number of the packet that it is of; `None`: it is a reading of the clock.
    packet: Option<i64>,
}

/// The files, and the conversion to UTC.
pub(super) struct Store {
    folder: PathBuf,
    source: Interface,
    interface: Arc<str>,
    index: wirestamp::InterfaceIndex,
    is_in_nanoseconds: bool,
    clock: HostClock,
    /// What waits until its time is final, the oldest first.
    waiting: VecDeque<Waiting>,
    flow: i64,
    sequence: i64,
    /// UTC of the last conversion, for the hour of rows that could not be converted.
    now: i64,
    cross: Recorder<Cross>,
    timestamps: Recorder<Timestamp>,
    estimates: Recorder<ClockEstimate>,
}

impl Store {
    pub(super) fn open(
        arguments: &arguments::Record,
        interface: &Interface,
    ) -> Result<Option<Self>, Error> {
        let Some(folder) = arguments.parquet.clone() else {
            return Ok(None);
        };
        let host = recordings::open(&folder, arguments.host.as_deref())?;
        let nominal = interface
            .supported()
            .ok()
            .and_then(|supported| supported.nominal_frequency);
        let to = arguments.to.map(|to| to.to_string()).unwrap_or_default();
        let options = CorrelatorOptions {
            period: PERIOD,
            ..CorrelatorOptions::default()
        };
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        Ok(Some(Self {
            interface: interface.name().into(),
            index: interface.index(),
            is_in_nanoseconds: nominal.is_none_or(|nominal| nominal == Frequency::GIGAHERTZ),
            clock: HostClock::hardware(Arc::new(interface.correlator(options)?)),
            source: interface.clone(),
            waiting: VecDeque::new(),
            flow: flow_of(&host, &to, 0),
            sequence: 0,
            now: now.map_or(0, |now| i64::try_from(now.as_nanos()).unwrap_or(0)),
            cross: Recorder::new(&folder, &host, Options::default()),
            timestamps: Recorder::new(&folder, &host, Options::default()),
            estimates: Recorder::new(&folder, &host, Options::default()),
            folder,
        }))
    }

    /// Takes a batch, and what the clock's conversion knows after it.
    pub(super) fn readings(&mut self, readings: &[CrossTimestamp]) -> Result<(), Error> {
        let Some(last) = readings.last() else {
            return Ok(());
        };
        let timestamp = HardwareTimestamp {
            ticks: last.hardware(),
            interface: Some(self.index),
            read_at: last.monotonic_after(),
        };
        self.wait(timestamp, None)?;
        while self.waiting.front().is_some_and(|first| {
            let timestamps = only(first.timestamp);
            self.clock.is_confirmed(&timestamps)
        }) {
            self.write_first()?;
        }
        for reading in readings {
            let row = Cross {
                interface: Arc::clone(&self.interface),
                monotonic_before: reading.monotonic_before().nanoseconds(),
                ticks: reading.hardware().raw(),
                monotonic_after: reading.monotonic_after().nanoseconds(),
                method: reading.method().name(),
            };
            self.cross
                .push(self.now, row)
                .map_err(|error| self.failed(&error))?;
        }
        let polled = self
            .timestamps
            .poll()
            .and_then(|()| self.cross.poll())
            .and_then(|()| self.estimates.poll());
        polled.map_err(|error| self.failed(&error))
    }

    /// Takes the transmit timestamp of one datagram.
    pub(super) fn timestamp(&mut self, timestamp: &HardwareTimestamp) -> Result<(), Error> {
        self.sequence += 1;
        self.wait(*timestamp, Some(self.sequence - 1))
    }

    fn wait(&mut self, timestamp: HardwareTimestamp, packet: Option<i64>) -> Result<(), Error> {
        self.waiting.push_back(Waiting { timestamp, packet });
        if self.waiting.len() > MOST_WAITING {
            self.write_first()?;
        }
        Ok(())
    }

    /// Writes the oldest of what waits. Its time is final, or it has none.
    fn write_first(&mut self) -> Result<(), Error> {
        let Some(Waiting { timestamp, packet }) = self.waiting.pop_front() else {
            return Ok(());
        };
        let (utc, generation) = self.utc(&timestamp);
        let written = match packet {
            Some(sequence) => {
                let row = Timestamp {
                    interface: Arc::clone(&self.interface),
                    flow: self.flow,
                    sequence,
                    direction: Direction::Transmit,
                    source: Source::Hardware,
                    generation,
                    ticks: Some(timestamp.ticks.raw()),
                    utc,
                };
                self.timestamps.push(self.now, row)
            }
            None => {
                let ticks = timestamp.ticks.raw().cast_signed();
                let estimate = ClockEstimate {
                    clock: Arc::clone(&self.interface),
                    from: self.now,
                    until: self.now,
                    generation,
                    offset: match utc {
                        Ok(_) if !self.is_in_nanoseconds => Err(OTHER_UNIT),
                        Ok((utc, bound)) => Ok((ticks.wrapping_sub(utc), bound)),
                        Err(reason) => Err(reason),
                    },
                    frequency_ppt: self.frequency_ppt(generation),
                    right_servers: None,
                };
                self.estimates.push(self.now, estimate)
            }
        };
        written.map_err(|error| self.failed(&error))
    }

    pub(super) fn finish(mut self) -> Result<(), Error> {
        let mut answers = true;
        while let Some(first) = self.waiting.front() {
            // a clock that cannot be read any more confirms nothing: then there is no time
            answers = answers && self.clock.confirm(&only(first.timestamp)).is_ok();
            self.write_first()?;
        }
        let Self {
            folder,
            cross,
            timestamps,
            estimates,
            ..
        } = self;
        let written = timestamps
            .finish()
            .and_then(|()| cross.finish())
            .and_then(|()| estimates.finish());
        written.map_err(|error| recordings::failed(&folder, &error))
    }

    /// UTC and its error bound, if that is final; and the clock's generation.
    fn utc(&mut self, timestamp: &HardwareTimestamp) -> (Utc, Option<u32>) {
        let placed = self
            .clock
            .place(&only(*timestamp), TimestampPolicy::OnlyHardware)
            .and_then(|time| time.is_final.then_some(time).ok_or(ConversionError::Stale));
        let generation = placed.map(|time| time.monotonic.generation.0).ok();
        let both = || self.source.utc_cross_timestamp();
        match placed.and_then(|time| self.clock.utc(&time, both)) {
            Ok(utc) => {
                self.now = utc.at.value.nanoseconds();
                let bound = utc.at.bound.saturating_nanoseconds().cast_unsigned();
                (Ok((self.now, bound)), generation)
            }
            Err(reason) => (Err(reason.name()), generation),
        }
    }

    /// That of this generation, if it is still the current one.
    fn frequency_ppt(&self, generation: Option<u32>) -> Option<i64> {
        let frequency = self.clock.correlator()?.frequency()?;
        (self.is_in_nanoseconds && generation == Some(frequency.generation.0))
            .then_some(((frequency.hertz / 1e9 - 1.0) * 1e12).round() as i64)
    }

    fn failed(&self, error: &std::io::Error) -> Error {
        recordings::failed(&self.folder, error)
    }
}

fn only(timestamp: HardwareTimestamp) -> Timestamps {
    Timestamps::new(None, Some(timestamp))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::{Arguments, Command};
    use clap::Parser as _;
    use wirestamp::sim::NicName;
    use wirestamp::{Simulation, Span};

    /// At the end many timestamps wait. A clock that cannot be read is asked once, not for each.
    #[test]
    fn a_clock_that_does_not_answer_is_asked_once_for_all_that_wait() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = folder.path().to_str().expect("a name");
        let line = [
            "wirestamp",
            "record",
            "sim0",
            "--for",
            "1s",
            "--parquet",
            place,
            "--host",
            "db7",
        ];
        let Command::Record(arguments) = Arguments::parse_from(line).command else {
            panic!("another command");
        };
        let simulation = Simulation::preset("i225", 1).expect("a preset");
        let interface = simulation.interface("sim0").expect("a NIC");
        let store = Store::open(&arguments, &interface).expect("it opens");
        let (mut store, world) = (store.expect("it is asked for"), simulation.world());
        world.advance(Span::from_seconds(2));
        for _ in 0..100 {
            let truth = world.truth();
            let ticks = truth.hardware_ticks_at(interface.index(), truth.now());
            let timestamp = HardwareTimestamp {
                ticks: ticks.expect("it has a clock"),
                interface: Some(interface.index()),
                read_at: truth.now(),
            };
            store.timestamp(&timestamp).expect("it is taken");
        }
        let clock = store.clock.clone();
        let failures = || clock.correlator().expect("it has one").status().failures;
        world.remove_nic(NicName::Sim0);
        let before = failures();
        store.finish().expect("written");
        assert!(failures() - before <= 1, "{before}, then {}", failures());
    }
}
