//! A row for each packet of `latency --peer`: with `--format ndjson` and `csv`, and in the file of `--packets`.

use crate::output::{Draft, Output, Target, json};
use serde::Serialize;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use wirestamp::{Bounded, Error, Span};
use wirestamp_probe::session::Sample;

/// The measurements of one packet. A missing one is null, never 0.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Row {
    /// Number of the packet, from 0.
    sequence: u32,
    /// Whether a reply came in time.
    answered: bool,
    /// Further replies: the request was duplicated.
    duplicates: usize,
    /// When it left, nanoseconds since 1970, UTC; null: it has no transmit timestamp.
    #[serde(serialize_with = "json::some_digits")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::schema::Digits>"))]
    sent_utc_ns: Option<i64>,
    /// Why it has no transmit timestamp; null: it has one.
    missing_transmit_reason: Option<&'static str>,
    /// In this host, from just before the send call until it left.
    send_path_ns: Option<i64>,
    /// From this host to the reflector; null: the clocks are not related.
    forward_ns: Option<i64>,
    /// Error bound of `forward_ns`.
    forward_error_bound_ns: Option<i64>,
    /// In the reflector, until the reply left; null: it did not report that.
    residence_ns: Option<i64>,
    /// Error bound of `residence_ns`.
    residence_error_bound_ns: Option<i64>,
    /// In the reflector, until just before it sent the reply.
    residence_as_written_ns: Option<i64>,
    /// In the reflector, from just before it sent the reply until that left.
    reflector_send_path_ns: Option<i64>,
    /// From the reflector to this host; null: the clocks are not related, or it did not report when the reply left.
    backward_ns: Option<i64>,
    /// Error bound of `backward_ns`.
    backward_error_bound_ns: Option<i64>,
    /// In this host, from the reply's arrival until the program had it.
    receive_path_ns: Option<i64>,
    /// The round trip without the time in the reflector.
    path_delay_ns: Option<i64>,
    /// Error bound of `path_delay_ns`.
    path_delay_error_bound_ns: Option<i64>,
    /// From leaving to the reply's arrival.
    round_trip_ns: Option<i64>,
    /// Error bound of `round_trip_ns`.
    round_trip_error_bound_ns: Option<i64>,
}

impl Row {
    fn of(sample: &Sample) -> Self {
        let value = |measured: Option<Bounded<Span>>| {
            measured.map(|measured| measured.value.saturating_nanoseconds())
        };
        let bound = |measured: Option<Bounded<Span>>| {
            measured.map(|measured| Span::saturating_nanoseconds(measured.bound))
        };
        Self {
            sequence: sample.sequence,
            answered: sample.is_answered,
            duplicates: sample.duplicates,
            sent_utc_ns: sample.sent.ok().map(|sent| sent.utc.nanoseconds()),
            missing_transmit_reason: sample.sent.err().map(wirestamp_probe::Missing::name),
            send_path_ns: value(sample.send_path),
            forward_ns: value(sample.forward),
            forward_error_bound_ns: bound(sample.forward),
            residence_ns: value(sample.residence),
            residence_error_bound_ns: bound(sample.residence),
            residence_as_written_ns: value(sample.residence_as_written),
            reflector_send_path_ns: value(sample.reflector_send_path),
            backward_ns: value(sample.backward),
            backward_error_bound_ns: bound(sample.backward),
            receive_path_ns: value(sample.receive_path),
            path_delay_ns: value(sample.path_delay),
            path_delay_error_bound_ns: bound(sample.path_delay),
            round_trip_ns: value(sample.round_trip),
            round_trip_error_bound_ns: bound(sample.round_trip),
        }
    }
}

/// Rows are written in pieces of about so many bytes: not so often that it disturbs.
const PIECE: usize = 1 << 16;

/// The rows that are printed, if rows were asked for.
#[derive(Default)]
pub(super) struct Rows {
    text: String,
    /// The first error: the measurement goes on, and says so at its end.
    failed: Option<io::Error>,
}

impl Rows {
    pub(super) const fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    pub(super) fn add(&mut self, sample: &Sample, output: &mut Output) {
        if output.has_rows() && self.failed.is_none() {
            self.failed = self.write(sample, output).err();
        }
    }

    fn write(&mut self, sample: &Sample, output: &mut Output) -> io::Result<()> {
        self.text.push_str(&output.row_text(&Row::of(sample))?);
        if self.text.len() < PIECE {
            return Ok(());
        }
        let written = output.raw(&self.text);
        self.text.clear();
        written
    }

    /// All packets are judged.
    pub(super) fn finish(self, output: &mut Output) -> io::Result<()> {
        match self.failed {
            Some(error) => Err(error),
            None => output.raw(&self.text),
        }
    }
}

/// The file, as packets are judged.
pub(super) struct Packets {
    draft: BufWriter<Draft>,
    /// The first error: the measurement goes on, and says so at its end.
    failed: Option<io::Error>,
}

impl Packets {
    pub(super) fn create(path: &Path) -> Result<Self, Error> {
        let target = Target::check(path, "write the packets")?;
        Ok(Self {
            draft: BufWriter::new(target.start()?),
            failed: None,
        })
    }

    pub(super) const fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    pub(super) fn add(&mut self, sample: &Sample) {
        if self.failed.is_none() {
            self.failed = self.write(sample).err();
        }
    }

    fn write(&mut self, sample: &Sample) -> io::Result<()> {
        serde_json::to_writer(&mut self.draft, &Row::of(sample))?;
        self.draft.write_all(b"\n")
    }

    /// All packets are judged.
    pub(super) fn finish(mut self) -> Result<(), Error> {
        let flushed = self.failed.take().map_or_else(|| self.draft.flush(), Err);
        flushed.map_err(|error| self.draft.get_ref().failed(&error))?;
        let draft = self.draft.into_inner();
        draft
            .map_err(|error| {
                let (error, writer) = error.into_parts();
                writer.get_ref().failed(&error)
            })?
            .finish()
    }
}
