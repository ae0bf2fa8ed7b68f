//! `latency --peer --parquet`: a row of the table `probes` for each window, and what this host claims of its clock.

use super::claim::Claim;
use crate::arguments;
use crate::commands::recordings;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;
use wirestamp::{Error, Span, utc_error_bound};
use wirestamp_probe::Missing;
use wirestamp_probe::session::{Measured, Sample};
use wirestamp_record::{ClockEstimate, Options, Probe, Recorder};

/// Why there is no claim: neither the kernel nor the command line says how far the clock is from UTC.
const NO_CLAIM: &str = "not_synchronized";

/// The files.
pub(super) struct Probes {
    folder: PathBuf,
    windows: Windows,
    probes: Recorder<Probe>,
    estimates: Recorder<ClockEstimate>,
    claim: Claim,
    /// When the first packet left, and the last.
    seen: Option<(i64, i64)>,
    /// The first error: the measurement goes on, and says so at its end.
    failed: Option<io::Error>,
}

impl Probes {
    pub(super) fn open(arguments: &arguments::Stamp, peer: &str) -> Result<Option<Self>, Error> {
        let Some(folder) = arguments.parquet.clone() else {
            return Ok(None);
        };
        let host = recordings::open(&folder, arguments.host.as_deref())?;
        let address = || arguments::Stamp::port_of(peer).0.to_owned();
        let peer = arguments.peer_name.clone().unwrap_or_else(address);
        let said = arguments.clock_bound.map(Span::from);
        Ok(Some(Self {
            windows: Windows::new(peer.into(), arguments.window.as_nanos() as i64),
            probes: Recorder::new(&folder, &host, Options::default()),
            estimates: Recorder::new(&folder, &host, Options::default()),
            claim: Claim::new(said, utc_error_bound, Instant::now()),
            seen: None,
            failed: None,
            folder,
        }))
    }

    pub(super) fn add(&mut self, sample: &Sample) {
        if let Ok(sent) = sample.sent {
            let at = sent.utc.nanoseconds();
            self.seen = Some((self.seen.map_or(at, |(first, _)| first), at));
        }
        let sent = sample.sent.map(|sent| sent.utc.nanoseconds());
        let nanoseconds = |measured: Measured| measured.value.saturating_nanoseconds();
        let differences = [sample.forward_difference, sample.backward_difference];
        let row = self.windows.add(
            sent,
            differences.map(|difference| difference.map(nanoseconds)),
        );
        self.push(row);
        self.claim.look(Instant::now());
        if let Err(error) = self.probes.poll() {
            self.failed.get_or_insert(error);
        }
    }

    fn push(&mut self, row: Option<Probe>) {
        if let Some(row) = row
            && let Err(error) = self.probes.push(row.window_start, row)
        {
            self.failed.get_or_insert(error);
        }
    }

    /// All packets are judged.
    pub(super) fn finish(mut self) -> Result<(), Error> {
        let last = self.windows.row();
        self.push(last);
        let Self {
            folder,
            probes,
            mut estimates,
            claim,
            seen,
            failed: earlier,
            ..
        } = self;
        let nanoseconds = |bound: Span| bound.saturating_nanoseconds().cast_unsigned();
        let bound = claim.bound.map(nanoseconds);
        let claimed = seen.map_or(Ok(()), |(from, until)| {
            let row = ClockEstimate {
                clock: "utc".into(),
                from,
                until,
                generation: None,
                offset: bound.map(|bound| (0, bound)).ok_or(NO_CLAIM),
                frequency_ppt: None,
            };
            estimates.push(from, row)
        });
        earlier
            .map_or(Ok(()), Err)
            .and(claimed)
            .and(probes.finish())
            .and(estimates.finish())
            .map_err(|error| recordings::failed(&folder, &error))
    }
}

/// Makes one row of the packets that left in the same window.
struct Windows {
    peer: Arc<str>,
    length: i64,
    start: Option<i64>,
    forward: Vec<i64>,
    backward: Vec<i64>,
    count: i64,
}

impl Windows {
    fn new(peer: Arc<str>, length: i64) -> Self {
        Self {
            peer,
            length,
            start: None,
            forward: Vec::new(),
            backward: Vec::new(),
            count: 0,
        }
    }

    /// Takes a packet: when it left, and the differences forward and backward. Returns the row of the window before it, if that is over. After a step
    /// back of the clock, packets count in the window that was open: a host has one row for each window.
    fn add(&mut self, sent: Result<i64, Missing>, differences: [Option<i64>; 2]) -> Option<Probe> {
        let start = sent.map(|at| at - at.rem_euclid(self.length)).ok();
        let is_over = self.start.is_some() && start > self.start;
        let row = is_over.then(|| self.row()).flatten();
        self.start = self.start.max(start);
        if self.start.is_some() && sent != Err(Missing::NotSent) {
            self.count += 1;
            let [forward, backward] = differences;
            self.forward.extend(forward);
            self.backward.extend(backward);
        }
        row
    }

    /// The row of the window that is open.
    fn row(&mut self) -> Option<Probe> {
        let (forward, forward_middle) = least_and_middle(&mut self.forward);
        let (backward, backward_middle) = least_and_middle(&mut self.backward);
        Some(Probe {
            peer: Arc::clone(&self.peer),
            window_start: self.start.take()?,
            window: self.length,
            forward,
            backward,
            forward_middle,
            backward_middle,
            count: std::mem::take(&mut self.count),
        })
    }
}

/// Empties them.
fn least_and_middle(values: &mut Vec<i64>) -> (Option<i64>, Option<i64>) {
    values.sort_unstable();
    let found = (
        values.first().copied(),
        values.get(values.len().saturating_sub(1) / 2).copied(),
    );
    values.clear();
    found
}

#[cfg(test)]
mod tests;
