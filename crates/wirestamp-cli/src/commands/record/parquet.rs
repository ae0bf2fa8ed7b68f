//! `record --parquet`: what was recorded, as rows of Parquet files. UTC is the library's word, or there is none.

use crate::arguments;
use crate::commands::recordings;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use wirestamp::{
    Correlator, CorrelatorOptions, CrossTimestamp, Error, Frequency, HardwareTimestamp, Interface,
};
use wirestamp_record::{
    ClockEstimate, Cross, Direction, Options, Recorder, Source, Timestamp, flow_of,
};

/// Why a clock has no offset to UTC: its ticks are no nanoseconds.
const OTHER_UNIT: &str = "not_nanoseconds";

/// The files, and the conversion to UTC.
pub(super) struct Store {
    folder: PathBuf,
    interface: Arc<str>,
    index: wirestamp::InterfaceIndex,
    is_in_nanoseconds: bool,
    correlator: Correlator,
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
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        Ok(Some(Self {
            interface: interface.name().into(),
            index: interface.index(),
            is_in_nanoseconds: nominal.is_none_or(|nominal| nominal == Frequency::GIGAHERTZ),
            correlator: interface.correlator(CorrelatorOptions::default())?,
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
        let utc = self.utc(&timestamp);
        let estimate = ClockEstimate {
            clock: Arc::clone(&self.interface),
            from: self.now,
            until: self.now,
            generation: self.correlator.generation().map(|generation| generation.0),
            offset: match utc {
                Ok(_) if !self.is_in_nanoseconds => Err(OTHER_UNIT),
                Ok((utc, bound)) => {
                    Ok((last.hardware().raw().cast_signed().wrapping_sub(utc), bound))
                }
                Err(reason) => Err(reason),
            },
            frequency_ppt: self.frequency_ppt(),
        };
        self.estimates
            .push(self.now, estimate)
            .map_err(|error| self.failed(&error))?;
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
        let utc = self.utc(timestamp);
        let row = Timestamp {
            interface: Arc::clone(&self.interface),
            flow: self.flow,
            sequence: self.sequence,
            direction: Direction::Transmit,
            source: Source::Hardware,
            generation: self.correlator.generation().map(|generation| generation.0),
            ticks: Some(timestamp.ticks.raw()),
            utc,
        };
        self.sequence += 1;
        self.timestamps
            .push(self.now, row)
            .map_err(|error| self.failed(&error))
    }

    pub(super) fn finish(self) -> Result<(), Error> {
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

    fn utc(&mut self, timestamp: &HardwareTimestamp) -> Result<(i64, u64), &'static str> {
        let estimate = self
            .correlator
            .to_utc(timestamp)
            .map_err(wirestamp::ConversionError::name)?;
        self.now = estimate.at.nanoseconds();
        let bound = estimate.bound.saturating_nanoseconds();
        Ok((self.now, bound.cast_unsigned()))
    }

    fn frequency_ppt(&self) -> Option<i64> {
        let frequency = self.correlator.frequency()?;
        self.is_in_nanoseconds
            .then_some(((frequency.hertz / 1e9 - 1.0) * 1e12).round() as i64)
    }

    fn failed(&self, error: &std::io::Error) -> Error {
        recordings::failed(&self.folder, error)
    }
}
