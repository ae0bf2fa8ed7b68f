//! `record --parquet`: writes what the engine records as rows of Parquet files.

use crate::arguments;
use crate::commands::recordings;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use wirestamp::{ConversionError, CrossTimestamp, Error, Interface};
use wirestamp_measure::{FinalTime, Known};
use wirestamp_record::{
    ClockEstimate, Cross, Direction, Options, Recorder, Source, Timestamp, flow_of,
};

/// The files.
pub(super) struct Store {
    folder: PathBuf,
    interface: Arc<str>,
    flow: i64,
    /// The last UTC that is known, for the hour of rows that have none.
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
        let to = arguments.to.map(|to| to.to_string()).unwrap_or_default();
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        Ok(Some(Self {
            interface: interface.name().into(),
            flow: flow_of(&host, &to, 0),
            now: now.map_or(0, |now| i64::try_from(now.as_nanos()).unwrap_or(0)),
            cross: Recorder::new(&folder, &host, Options::default()),
            timestamps: Recorder::new(&folder, &host, Options::default()),
            estimates: Recorder::new(&folder, &host, Options::default()),
            folder,
        }))
    }

    /// Takes a batch.
    pub(super) fn readings(&mut self, readings: &[CrossTimestamp]) -> Result<(), Error> {
        let mut rows = readings.iter().map(|reading| Cross {
            interface: Arc::clone(&self.interface),
            monotonic_before: reading.monotonic_before().nanoseconds(),
            ticks: reading.hardware().raw(),
            monotonic_after: reading.monotonic_after().nanoseconds(),
            method: reading.method().name(),
        });
        let written = rows
            .try_for_each(|row| self.cross.push(self.now, row))
            .and_then(|()| self.timestamps.poll())
            .and_then(|()| self.cross.poll())
            .and_then(|()| self.estimates.poll());
        self.written(written)
    }

    /// Takes the time of a datagram's transmit timestamp.
    pub(super) fn time(&mut self, time: &FinalTime) -> Result<(), Error> {
        let utc = time.utc.map_err(ConversionError::name).map(|utc| {
            let bound = utc.bound.saturating_nanoseconds().cast_unsigned();
            (utc.value.nanoseconds(), bound)
        });
        self.now = utc.map_or(self.now, |(utc, _)| utc);
        let row = Timestamp {
            interface: Arc::clone(&self.interface),
            flow: self.flow,
            sequence: i64::try_from(time.number).unwrap_or(i64::MAX),
            direction: Direction::Transmit,
            source: Source::Hardware,
            generation: time.generation,
            ticks: Some(time.timestamp.ticks.raw()),
            utc,
        };
        let written = self.timestamps.push(self.now, row);
        self.written(written)
    }

    /// Takes what is known of the clock.
    pub(super) fn estimate(&mut self, known: &Known) -> Result<(), Error> {
        self.now = known.until.nanoseconds();
        let row = ClockEstimate {
            clock: Arc::clone(&self.interface),
            from: known.from.nanoseconds(),
            until: known.until.nanoseconds(),
            generation: known.generation,
            offset: known.offset.map(|offset| {
                let bound = offset.bound.saturating_nanoseconds().unsigned_abs();
                (offset.value.saturating_nanoseconds(), bound)
            }),
            frequency_ppt: known.frequency_ppt,
            right_servers: known.right_servers,
        };
        let written = self.estimates.push(self.now, row);
        self.written(written)
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

    fn written(&self, written: io::Result<()>) -> Result<(), Error> {
        written.map_err(|error| recordings::failed(&self.folder, &error))
    }
}
