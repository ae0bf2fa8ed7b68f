//! Takes what the engine records, and writes it down.

use super::{Recorded as Report, Store};
use crate::failure::Failure;
use crate::output::{grouped, plural};
use std::io::{self, BufWriter, Write};
use wirestamp::events::{Header, Writer};
use wirestamp::{Error, Span};
use wirestamp_measure::{Batch, Engine, Known, Recorded, Sample, Sink, Subject};

/// The destination of a recording.
pub(super) struct Recorder<'a, W: Write, F> {
    interface: &'a str,
    /// `None`: it was opened.
    open: Option<F>,
    /// `None`: nothing was read yet.
    writer: Option<Writer<BufWriter<W>>>,
    store: Option<Store>,
    report: &'a mut Report,
    /// Why nothing was read at first.
    unread: Option<Error>,
    /// Why nothing can be written any more.
    failure: Option<Failure>,
}

impl<'a, W: Write, F: FnOnce() -> Result<W, Error>> Recorder<'a, W, F> {
    pub(super) fn new(
        interface: &'a str,
        open: F,
        store: Option<Store>,
        report: &'a mut Report,
    ) -> Self {
        Self {
            interface,
            open: Some(open),
            writer: None,
            store,
            report,
            unread: None,
            failure: None,
        }
    }

    /// Whether anything was read.
    pub(super) fn has_begun(&self) -> bool {
        self.writer.is_some()
    }

    /// Whether all could be written so far.
    pub(super) fn check(&mut self) -> Result<(), Failure> {
        self.failure.take().map_or(Ok(()), Err)
    }

    /// A clock that can't be read at all is an error; later a batch may fail.
    pub(super) fn first_failure(&self, engine: &Engine) -> Option<Error> {
        if self.has_begun() {
            return None;
        }
        let opened = engine.outcomes();
        let unopened = opened.iter().find_map(|outcome| outcome.error);
        unopened.or(self.unread.as_ref()).cloned()
    }

    /// What a run without an end says each second.
    pub(super) fn line(&self, seconds: u32) -> String {
        let report = &*self.report;
        let [readings, timestamps] = [report.readings, report.timestamps].map(grouped);
        let failed = match report.failures {
            0 => String::new(),
            failures => format!(", failed {}", plural(failures, "time")),
        };
        let batches = report.batches();
        format!("{seconds:>5} s  {readings} readings in {batches}, {timestamps} timestamps{failed}")
    }

    pub(super) fn ended(&mut self, after: Span, is_interrupted: bool) {
        let after = after.saturating_nanoseconds();
        self.report.duration_ns = u64::try_from(after).unwrap_or(0);
        self.report.interrupted = is_interrupted;
    }

    /// Returns the destination of the events, which nothing more can be written to; `None`: there is none.
    pub(super) fn abandon(self) -> Option<W> {
        let (output, _) = self.writer?.into_inner().into_parts();
        Some(output)
    }

    /// Writes the rest, and returns the destination of the events.
    pub(super) fn finish(mut self) -> Result<W, (Option<W>, Failure)> {
        let Some(writer) = self.writer.take() else {
            let (kind, cause) = (io::ErrorKind::UnexpectedEof, "nothing was read");
            return Err((None, io::Error::new(kind, cause).into()));
        };
        let output = writer.into_inner().into_inner().map_err(|error| {
            let (error, writer) = error.into_parts();
            (Some(writer.into_parts().0), error.into())
        })?;
        match self.store.map_or(Ok(()), Store::finish) {
            Ok(()) => Ok(output),
            Err(error) => Err((Some(output), error.into())),
        }
    }

    fn write(&mut self, recorded: &Recorded<'_>) -> Result<(), Failure> {
        match recorded {
            Recorded::Batch(batch) => return self.batch(batch),
            Recorded::Failed(error) => {
                self.report.failures += 1;
                self.report.last_failure = Some(error.to_string());
            }
            _ => {}
        }
        let Some(writer) = &mut self.writer else {
            if let Recorded::Failed(error) = recorded {
                self.unread = Some((*error).clone());
            }
            return Ok(());
        };
        match recorded {
            Recorded::Notified => {
                self.report.notifications += 1;
                writer.notify()?;
            }
            Recorded::Timestamp(timestamp) => {
                self.report.timestamps += 1;
                writer.timestamp(timestamp.ticks)?;
            }
            Recorded::Time(time) => {
                if let Some(store) = &mut self.store {
                    store.time(time)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn batch(&mut self, batch: &Batch<'_>) -> Result<(), Failure> {
        self.report.batches += 1;
        self.report.readings += batch.readings.len() as u64;
        let writer = match (&mut self.writer, self.open.take()) {
            (Some(writer), _) => {
                if batch.is_another {
                    writer.replaced()?;
                }
                writer
            }
            (none, Some(open)) => none.insert(begin(self.interface, open()?, batch)?),
            (None, None) => return Ok(()), // it could not be opened
        };
        let mut readings = batch.readings.iter();
        readings.try_for_each(|reading| writer.cross(reading))?;
        writer.flush()?; // somebody may read along
        if let Some(store) = &mut self.store {
            store.readings(batch.readings)?;
        }
        Ok(())
    }
}

fn begin<W: Write>(
    interface: &str,
    output: W,
    batch: &Batch<'_>,
) -> Result<Writer<BufWriter<W>>, Failure> {
    let header = Header {
        system: batch.system,
        hardware: batch.nominal,
    };
    let mut writer = Writer::new(BufWriter::new(output), header)?;
    let version = env!("CARGO_PKG_VERSION");
    writer.comment(&format!("wirestamp {version} on {interface}"))?;
    Ok(writer)
}

impl<W: Write, F: FnOnce() -> Result<W, Error>> Sink for Recorder<'_, W, F> {
    fn sample(&mut self, _: &Sample<'_>) {}

    fn estimate(&mut self, _: &str, known: &Known) {
        if let (None, Some(store)) = (&self.failure, &mut self.store) {
            self.failure = store.estimate(known).err().map(Failure::from);
        }
    }

    fn recorded(&mut self, _: Subject<'_>, recorded: &Recorded<'_>) {
        if self.failure.is_none() {
            self.failure = self.write(recorded).err();
        }
    }
}
