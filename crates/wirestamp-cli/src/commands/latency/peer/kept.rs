//! What `latency --peer` keeps of each packet: rows, files, and how far the bar is.

use super::packets::{Packets, Rows};
use super::probes::Probes;
use crate::arguments;
use crate::commands::each_second::Packets as Second;
use crate::output::Output;
use crate::signals;
use indicatif::ProgressBar;
use std::io;
use wirestamp::{Error, UtcTime};
use wirestamp_measure::{Packet, Sample, Sink, Subject};
use wirestamp_probe::session;

/// How often the bar moves.
const STEPS: u64 = 200;

/// The sink of a session.
pub(super) struct Kept<'a> {
    packets: Option<Packets>,
    probes: Option<Probes>,
    rows: Rows,
    output: &'a mut Output,
    progress: ProgressBar,
    count: u64,
    sent: u64,
    /// Of a run without an end.
    second: Option<Second>,
    /// What kept a line of it from being written.
    failed: Option<io::Error>,
}

impl<'a> Kept<'a> {
    pub(super) fn new(
        arguments: &arguments::Latency,
        host: &str,
        count: u64,
        output: &'a mut Output,
    ) -> Result<Self, Error> {
        let is_endless = arguments.is_endless();
        let arguments = &arguments.stamp;
        let packets = arguments.packets.as_deref();
        Ok(Self {
            packets: packets.map(Packets::create).transpose()?,
            probes: Probes::open(arguments, host)?,
            rows: Rows::default(),
            progress: match is_endless {
                true => ProgressBar::hidden(),
                false => output.progress(count, "packets"),
            },
            second: is_endless.then(|| Second::new("round trip")),
            output,
            count,
            sent: 0,
            failed: None,
        })
    }

    /// Writes the line of a run without an end. What cannot be written ends it: its user would wait for the end to know.
    fn write_second(&mut self, packet: &session::Sample) {
        let Some(second) = &mut self.second else {
            return;
        };
        second.note(packet.is_answered, packet.round_trip.map(|took| took.value));
        let written = second.write(self.output);
        self.failed = self.failed.take().or(written.err());
        let of_files = [
            self.packets.as_ref().is_some_and(Packets::has_failed),
            self.probes.as_ref().is_some_and(Probes::has_failed),
        ];
        if self.failed.is_some() || self.rows.has_failed() || of_files.contains(&true) {
            signals::stop();
        }
    }

    /// All packets are judged: prints the rows that are left, and returns the files, which are as if they never were unless they are finished.
    ///
    /// # Errors
    /// Rows could not be printed.
    pub(super) fn finish(self) -> io::Result<Files> {
        self.progress.finish_and_clear();
        self.failed.map_or(Ok(()), Err)?;
        self.rows.finish(self.output)?;
        Ok(Files {
            packets: self.packets,
            probes: self.probes,
        })
    }
}

/// The files of `--packets` and `--parquet`.
pub(super) struct Files {
    packets: Option<Packets>,
    probes: Option<Probes>,
}

impl Files {
    pub(super) fn finish(self) -> Result<(), Error> {
        let packets = self.packets.map_or(Ok(()), Packets::finish);
        let probes = self.probes.map_or(Ok(()), Probes::finish);
        packets.and(probes)
    }
}

impl Sink for Kept<'_> {
    fn sample(&mut self, _: &Sample<'_>) {}

    fn judged(&mut self, _: Subject<'_>, packet: &session::Sample) {
        if let Some(packets) = &mut self.packets {
            packets.add(packet);
        }
        if let Some(probes) = &mut self.probes {
            probes.add(packet);
        }
        self.rows.add(packet, self.output);
        self.write_second(packet);
    }

    fn wants_packets(&self) -> bool {
        true
    }

    fn packet(&mut self, packet: &Packet<'_>, _: UtcTime) {
        if !packet.is_sent || self.sent == self.count {
            return;
        }
        self.sent += 1;
        if self.sent.is_multiple_of((self.count / STEPS).max(1)) {
            self.progress.set_position(self.sent);
        }
    }
}
