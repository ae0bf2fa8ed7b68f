//! `latency --peer --parquet`: a row of the table `probes` for each window, and what this host claims of its clock.

use crate::arguments;
use crate::commands::recordings;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;
use wirestamp::clock::utc_error_bound;
use wirestamp::{Error, Span};
use wirestamp_measure::Claim;
use wirestamp_measure::goal::host_and_port;
use wirestamp_probe::session::{Differences, Sample, Window, Windows};
use wirestamp_record::{ClockEstimate, Options, Probe, Recorder};

/// Why there is no claim: neither the kernel nor the command line says how far the clock is from UTC.
const NO_CLAIM: &str = "not_synchronized";

/// The files.
pub(super) struct Probes {
    folder: PathBuf,
    peer: Arc<str>,
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
        let address = || host_and_port(peer).map_or_else(|| peer.to_owned(), |(name, _)| name);
        let peer = arguments.peer_name.clone().unwrap_or_else(address);
        let said = arguments.clock_bound.map(Span::from);
        Ok(Some(Self {
            peer: peer.into(),
            windows: Windows::new(arguments.window),
            probes: Recorder::new(&folder, &host, Options::default()),
            estimates: Recorder::new(&folder, &host, Options::default()),
            claim: Claim::new(said, utc_error_bound, Instant::now()),
            seen: None,
            failed: None,
            folder,
        }))
    }

    pub(super) const fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    pub(super) fn add(&mut self, sample: &Sample) {
        if let Ok(sent) = sample.sent {
            let at = sent.utc.nanoseconds();
            self.seen = Some((self.seen.map_or(at, |(first, _)| first), at));
        }
        let window = self.windows.add(sample);
        self.push(window);
        self.claim.look(Instant::now());
        if let Err(error) = self.probes.poll() {
            self.failed.get_or_insert(error);
        }
    }

    fn push(&mut self, window: Option<Window>) {
        if let Some(window) = window
            && let Err(error) = self
                .probes
                .push(window.start.nanoseconds(), self.row(&window))
        {
            self.failed.get_or_insert(error);
        }
    }

    fn row(&self, window: &Window) -> Probe {
        let least = |one: Differences| one.least.saturating_nanoseconds();
        let middle = |one: Differences| one.middle.saturating_nanoseconds();
        Probe {
            peer: Arc::clone(&self.peer),
            window_start: window.start.nanoseconds(),
            window: window.length.saturating_nanoseconds(),
            forward: window.forward.map(least),
            backward: window.backward.map(least),
            forward_middle: window.forward.map(middle),
            backward_middle: window.backward.map(middle),
            count: window.sent.cast_signed(),
        }
    }

    /// All packets are judged.
    pub(super) fn finish(mut self) -> Result<(), Error> {
        let last = self.windows.close();
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
        let bound = claim.bound().map(nanoseconds);
        let claimed = seen.map_or(Ok(()), |(from, until)| {
            let row = ClockEstimate {
                clock: "utc".into(),
                from,
                until,
                generation: None,
                offset: bound.map(|bound| (0, bound)).ok_or(NO_CLAIM),
                frequency_ppt: None,
                right_servers: None,
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
