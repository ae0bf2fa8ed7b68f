//! What `latency` shows while packets are on their way: a bar on a terminal, and rows.

use super::rows::Rows;
use crate::commands::each_second::Packets;
use crate::output::Output;
use indicatif::ProgressBar;
use std::io;
use wirestamp::latency::{LatencyOptions, PacketLatency, Progress};
use wirestamp_measure::{Sample, Sink, Subject};

/// Takes what the engine yields.
pub(super) struct Watching {
    bar: ProgressBar,
    rows: Option<Rows>,
    /// Those that are not written yet.
    packets: Vec<PacketLatency>,
    /// Of a run without an end.
    second: Option<Packets>,
}

impl Watching {
    pub(super) fn new(options: &LatencyOptions, is_endless: bool, output: &Output) -> Self {
        let name = match options.peer {
            Some(_) => "round trip",
            None => "wire",
        };
        let rows = || Rows::new(options);
        Self {
            bar: match options.count {
                u64::MAX => ProgressBar::hidden(), // as many as fit into a time
                count => output.progress(count, "packets"),
            },
            rows: output.has_rows().then(rows),
            packets: Vec::new(),
            second: is_endless.then(|| Packets::new(name)),
        }
    }

    /// Writes rows now and then.
    pub(super) fn write(&mut self, output: &mut Output) -> io::Result<()> {
        if let Some(second) = &mut self.second {
            second.write(output)?;
        }
        let packets = self.packets.drain(..);
        let rows = self.rows.as_mut();
        rows.map_or(Ok(()), |rows| rows.take(packets, output))
    }

    /// Writes all rows that are left.
    pub(super) fn finish(mut self, output: &mut Output) -> io::Result<()> {
        self.bar.finish_and_clear();
        self.write(output)?;
        let mut rows = self.rows;
        rows.iter_mut().try_for_each(|rows| rows.write(output))
    }
}

impl Sink for Watching {
    fn sample(&mut self, _: &Sample<'_>) {}

    fn wants_packets(&self) -> bool {
        self.rows.is_some() || self.second.is_some()
    }

    fn passed(&mut self, _: Subject<'_>, packet: &PacketLatency) {
        if let Some(second) = &mut self.second {
            second.note(packet.has_arrived(), packet.wire.map(|wire| wire.value));
        }
        if self.rows.is_some() {
            self.packets.push(*packet);
        }
    }

    fn progress(&mut self, _: Subject<'_>, progress: Progress) {
        self.bar.set_position(progress.sent);
    }
}
