//! The state of a server, for commands and metrics.

use super::dialogue::Dialogue;
use super::instant::{local_time, moment_of};
use super::{hint, reason};
use crate::moment::Moment;
use crate::options::Ntp;
use crate::state::{NtpServerState, Reasons, by_source};
use std::net::Ipv4Addr;
use wirestamp::{Bounded, Span};
use wirestamp_ntp::{Leap, LocalTime, Measurement, ServerState};

/// The status word of a server that is measured.
const MEASURED: &str = "measured";
/// The status word before the first answer is late.
const STARTING: &str = "starting";

pub(super) fn of(
    configuration: &Ntp,
    dialogue: &Dialogue,
    moment: &Moment,
    stale_after: Span,
) -> NtpServerState {
    // without an end, samples with final times alone; a run with an end waits for these
    let (client, sampled) = match configuration.count {
        None => match dialogue.confirmed() {
            Some((client, sampled)) => (Some(client), *sampled),
            None => (None, None),
        },
        Some(_) => (Some(&dialogue.client), dialogue.sampled),
    };
    // measurements from before a step of this host's clock do not apply to it now
    let moved = match &sampled {
        Some(sampled) => moved_since(sampled, moment),
        None => Some(Bounded::exact(Span::ZERO)),
    };
    let measured = client.and_then(|client| client.measurement_at(&local_time(moment)));
    let measured = measured.zip(moved).map(|(mut measured, moved)| {
        measured.offset = measured.offset + moved;
        measured
    });
    let mut shown = NtpServerState {
        name: configuration.server.clone(),
        address: dialogue.address.to_string(),
        stale_after_ns: Some(stale_after.saturating_nanoseconds()),
        age_ns: dialogue
            .last()
            .map(|at| (moment.now - at).saturating_nanoseconds()),
        interface: dialogue.connected.interface.clone(),
        source: Some(dialogue.connected.stamper.source().name().to_owned()),
        stamps: by_source(
            dialogue.connected.stamper.source(),
            dialogue.connected.stamper.count(),
        ),
        authenticated: dialogue.association.is_some(),
        timestamps: dialogue.undelivered.timestamps(dialogue.socket()),
        ..NtpServerState::default()
    };
    count(&mut shown, dialogue);
    if let Some(state) = dialogue.client.server_state() {
        describe(&mut shown, state);
    }
    if let Some(measured) = &measured {
        fill(&mut shown, measured);
    }
    let stepped = || {
        let text = "this host's clock was stepped since it answered";
        moved.is_none().then(|| ("stepped", text.to_owned()))
    };
    shown.hint = hint::of(dialogue.client.server_state(), measured.as_ref());
    let reason = reason::of(dialogue).or_else(stepped);
    let status = reason.as_ref().map_or(STARTING, |(status, _)| status);
    shown.status = measured.map_or(status, |_| MEASURED).to_owned();
    shown.error = reason.map(|(_, reason)| reason);
    shown
}

fn fill(shown: &mut NtpServerState, measured: &Measurement) {
    let nanoseconds = |span: Span| Some(span.saturating_nanoseconds());
    shown.offset_ns = nanoseconds(measured.offset.value);
    shown.bound_ns = nanoseconds(measured.offset.bound);
    shown.root_bound_ns = nanoseconds(measured.root_bound);
    shown.utc_bound_ns = nanoseconds(measured.utc_bound());
    shown.path_delay_ns = nanoseconds(measured.path_delay);
    shown.measured_at_ns = Some(measured.at.nanoseconds());
    shown.samples_since_step = measured.samples;
}

fn count(shown: &mut NtpServerState, dialogue: &Dialogue) {
    let counts = dialogue.client.counts();
    shown.requests = counts.requests;
    shown.responses = counts.responses;
    shown.samples = counts.samples;
    shown.interleaved = counts.interleaved;
    shown.unanswered = dialogue.unanswered;
    let reasons = counts.without_sample().into_iter();
    let forged = [("not_authentic", dialogue.forged)];
    shown.rejected = reasons
        .chain(forged)
        .map(|(reason, count)| (reason.to_owned(), count))
        .collect();
    shown.steps = Reasons::from([
        ("local".to_owned(), counts.local_steps),
        ("server".to_owned(), counts.contradictions),
        ("drift".to_owned(), counts.drift_contradictions),
    ]);
}

fn describe(shown: &mut NtpServerState, state: ServerState) {
    shown.stratum = Some(state.stratum);
    shown.reference = Some(reference(state));
    shown.precision_log2_s = Some(state.precision);
    shown.root_delay_ns = Some(state.root_delay.saturating_nanoseconds());
    shown.root_dispersion_ns = Some(state.root_dispersion.saturating_nanoseconds());
    shown.leap = match state.leap {
        Leap::Insert => Some("insert".to_owned()),
        Leap::Delete => Some("delete".to_owned()),
        Leap::None | Leap::Unsynchronized => None,
    };
}

/// Up to four letters of a primary server, else an address or a hash.
fn reference(state: ServerState) -> String {
    let octets = state.reference_id;
    let letters = octets.split(|octet| *octet == 0).next().unwrap_or_default();
    let are_letters = !letters.is_empty() && letters.iter().all(u8::is_ascii_graphic);
    if state.stratum == 1 && are_letters {
        letters.iter().copied().map(char::from).collect()
    } else {
        Ipv4Addr::from(octets).to_string()
    }
}

/// Returns by how much the real-time clock has moved against the monotonic clock since then; `None`: it was stepped.
fn moved_since(then: &LocalTime, now: &Moment) -> Option<Bounded<Span>> {
    let then = moment_of(then, now.real_time_clock).reading;
    now.real_time_clock.slewed(&then, &now.reading)
}
