//! The counts of a task that failed. They are shown while the task is down and added to its next run, so that counters
//! never fall.

use crate::state::{
    ClockState, NtpServerState, PathState, PeerState, PtpState, Reasons, ReflectorState, State,
    TimestampCounts,
};
use wirestamp::{MissingReason, MonotonicTime};

/// The last state of one task, for the time while it is down.
#[derive(Debug)]
pub(crate) struct Carried {
    shown: State,
    /// The instant of the ages in `shown`.
    at: MonotonicTime,
}

impl Carried {
    /// `shown`: what the task shows when it fails, at `at`.
    pub(crate) fn new(mut shown: State, at: MonotonicTime) -> Self {
        shown.clocks.iter_mut().for_each(end_clock);
        shown.peers.iter_mut().for_each(end_peer);
        shown.paths.iter_mut().for_each(end_path);
        shown.ptp.iter_mut().for_each(end_port);
        if let Some(ntp) = &mut shown.ntp {
            ntp.servers.iter_mut().for_each(end_server);
        }
        Self { shown, at }
    }

    /// Adds the counts to the state of the task's new run.
    pub(crate) fn add_to(&self, running: &mut State) {
        let old = &self.shown;
        let clocks = running.clocks.iter_mut().zip(&old.clocks);
        clocks.for_each(|(new, old)| add_clock(new, old));
        let peers = running.peers.iter_mut().zip(&old.peers);
        peers.for_each(|(new, old)| add_peer(new, old));
        let paths = running.paths.iter_mut().zip(&old.paths);
        paths.for_each(|(new, old)| add_path(new, old));
        let ports = running.ptp.iter_mut().zip(&old.ptp);
        ports.for_each(|(new, old)| add_port(new, old));
        if let (Some(new), Some(old)) = (&mut running.ntp, &old.ntp) {
            let servers = new.servers.iter_mut().zip(&old.servers);
            servers.for_each(|(new, old)| add_server(new, old));
        }
        if let (Some(new), Some(old)) = (&mut running.reflector, &old.reflector) {
            add_reflector(new, old);
        }
    }

    /// Returns the state while the task is down: its counts, no values, and ages that grow.
    pub(crate) fn show(&self, now: MonotonicTime, error: Option<&str>) -> State {
        let passed = (now - self.at).saturating_nanoseconds();
        let grow = |age: &mut Option<i64>| *age = age.map(|age| age.saturating_add(passed));
        let mut shown = self.shown.clone();
        for clock in &mut shown.clocks {
            grow(&mut clock.age_ns);
            clock.error = error.map(str::to_owned).or(clock.error.take());
        }
        for peer in &mut shown.peers {
            grow(&mut peer.age_ns);
            grow(&mut peer.path_delay_age_ns);
            peer.error = error.map(str::to_owned).or(peer.error.take());
        }
        for path in &mut shown.paths {
            path.error = error.map(str::to_owned).or(path.error.take());
        }
        for port in &mut shown.ptp {
            grow(&mut port.age_ns);
            port.error = error.map(str::to_owned).or(port.error.take());
        }
        for server in shown.ntp.iter_mut().flat_map(|ntp| &mut ntp.servers) {
            grow(&mut server.age_ns);
            server.error = error.map(str::to_owned).or(server.error.take());
        }
        shown
    }
}

fn end_clock(clock: &mut ClockState) {
    (clock.utc_offset_ns, clock.utc_bound_ns) = (None, None);
    (clock.tai_offset_ns, clock.reference) = (None, None);
    clock.right_servers = None;
    (clock.frequency_ppb, clock.frequency_bound_ppb) = (None, None);
}

/// Packets under way are lost: nobody takes their replies.
fn end_peer(peer: &mut PeerState) {
    peer.lost += std::mem::take(&mut peer.in_flight);
    end_counts(&mut peer.timestamps);
}

fn end_path(path: &mut PathState) {
    path.lost += std::mem::take(&mut path.in_flight);
    end_counts(&mut path.timestamps);
}

fn end_port(port: &mut PtpState) {
    (port.offset_ns, port.bound_ns) = (None, None);
    (port.system_offset_ns, port.system_bound_ns) = (None, None);
    (port.path_delay_ns, port.frequency_ppb) = (None, None);
    "faulty".clone_into(&mut port.state);
}

fn end_server(server: &mut NtpServerState) {
    (server.offset_ns, server.bound_ns) = (None, None);
    (server.utc_bound_ns, server.path_delay_ns) = (None, None);
    (server.root_bound_ns, server.measured_at_ns) = (None, None);
    "failed".clone_into(&mut server.status);
    end_counts(&mut server.timestamps);
}

/// The socket is closed with its task.
fn end_counts(counts: &mut TimestampCounts) {
    let reason = MissingReason::SocketClosed.name().to_owned();
    *counts.missing.entry(reason).or_default() += std::mem::take(&mut counts.pending);
}

// Each names every field, so that the compiler asks for a new one: a count is added, anything else is `_`. An estimate ends in
// `end_…`, an age grows in `show`.

fn add_clock(new: &mut ClockState, old: &ClockState) {
    let ClockState {
        generation_changes,
        readings,
        failures,
        name: _,
        kind: _,
        utc_offset_ns: _,
        utc_bound_ns: _,
        right_servers: _,
        tai_offset_ns: _,
        reference: _,
        frequency_ppb: _,
        frequency_bound_ppb: _,
        generation: _,
        age_ns: _,
        cross_width_ns: _,
        cross_method: _,
        error: _,
    } = old;
    add_reasons(&mut new.generation_changes, generation_changes);
    new.readings += readings;
    new.failures += failures;
}

fn add_peer(new: &mut PeerState, old: &PeerState) {
    let PeerState {
        stamps,
        sent,
        answered,
        lost,
        refused,
        rejected,
        followed_up,
        timestamps,
        name: _,
        address: _,
        interface: _,
        relation: _,
        source: _,
        in_flight: _,
        path_delay_ns: _,
        path_delay_bound_ns: _,
        path_delay_age_ns: _,
        age_ns: _,
        stale_after_ns: _,
        delays: _,
        error: _,
    } = old;
    add_reasons(&mut new.stamps, stamps);
    new.sent += sent;
    new.answered += answered;
    new.lost += lost;
    new.refused += refused;
    add_reasons(&mut new.rejected, rejected);
    new.followed_up += followed_up;
    add_counts(&mut new.timestamps, timestamps);
}

fn add_path(new: &mut PathState, old: &PathState) {
    let PathState {
        stamps,
        sent,
        received,
        lost,
        timestamps,
        interface: _,
        source: _,
        in_flight: _,
        delays: _,
        error: _,
    } = old;
    add_reasons(&mut new.stamps, stamps);
    new.sent += sent;
    new.received += received;
    new.lost += lost;
    add_counts(&mut new.timestamps, timestamps);
}

fn add_port(new: &mut PtpState, old: &PtpState) {
    let PtpState {
        stamps,
        samples,
        lost,
        ignored,
        interface: _,
        state: _,
        time_transmitter: _,
        grandmaster: _,
        steps_removed: _,
        source: _,
        offset_ns: _,
        bound_ns: _,
        system_offset_ns: _,
        system_bound_ns: _,
        path_delay_ns: _,
        frequency_ppb: _,
        age_ns: _,
        stale_after_ns: _,
        holdover: _,
        agreement: _,
        error: _,
        warnings: _,
    } = old;
    add_reasons(&mut new.stamps, stamps);
    new.samples += samples;
    add_reasons(&mut new.lost, lost);
    add_reasons(&mut new.ignored, ignored);
}

fn add_server(new: &mut NtpServerState, old: &NtpServerState) {
    let NtpServerState {
        requests,
        responses,
        samples,
        unanswered,
        rejected,
        steps,
        timestamps,
        stamps,
        interleaved,
        name: _,
        address: _,
        falseticker: _,
        offset_ns: _,
        bound_ns: _,
        utc_bound_ns: _,
        path_delay_ns: _,
        age_ns: _,
        stale_after_ns: _,
        stratum: _,
        error: _,
        status: _,
        root_bound_ns: _,
        measured_at_ns: _,
        samples_since_step: _,
        reference: _,
        precision_log2_s: _,
        root_delay_ns: _,
        root_dispersion_ns: _,
        leap: _,
        interface: _,
        source: _,
        authenticated: _,
        hint: _,
    } = old;
    new.requests += requests;
    new.responses += responses;
    new.samples += samples;
    new.unanswered += unanswered;
    add_reasons(&mut new.rejected, rejected);
    add_reasons(&mut new.steps, steps);
    add_counts(&mut new.timestamps, timestamps);
    add_reasons(&mut new.stamps, stamps);
    new.interleaved += interleaved;
}

fn add_reflector(new: &mut ReflectorState, old: &ReflectorState) {
    let ReflectorState {
        replies,
        dropped,
        not_sent,
        missing,
        stamps,
        listening: _,
        source: _,
        sessions: _,
        warnings: _,
    } = old;
    new.replies += replies;
    add_reasons(&mut new.dropped, dropped);
    new.not_sent += not_sent;
    add_reasons(&mut new.missing, missing);
    add_reasons(&mut new.stamps, stamps);
}

fn add_counts(new: &mut TimestampCounts, old: &TimestampCounts) {
    let TimestampCounts {
        requested,
        transmitted,
        missing,
        received,
        received_timestamped,
        queue_overflows,
        pending: _,
    } = old;
    new.requested += requested;
    new.transmitted += transmitted;
    add_reasons(&mut new.missing, missing);
    new.received += received;
    new.received_timestamped += received_timestamped;
    new.queue_overflows += queue_overflows;
}

fn add_reasons(new: &mut Reasons, old: &Reasons) {
    for (reason, count) in old {
        *new.entry(reason.clone()).or_default() += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirestamp::TimestampSource;

    fn used(source: TimestampSource, count: u64) -> State {
        let stamps = crate::state::by_source(source, count);
        let mut state = State::default();
        state.peers.push(PeerState {
            source: source.name().to_owned(),
            stamps: stamps.clone(),
            ..PeerState::default()
        });
        state.paths.push(PathState {
            source: source.name().to_owned(),
            stamps: stamps.clone(),
            ..PathState::default()
        });
        let server = NtpServerState {
            source: Some(source.name().to_owned()),
            stamps,
            ..NtpServerState::default()
        };
        state.ntp.get_or_insert_default().servers.push(server);
        state
    }

    /// As when a NIC is gone and the kernel timestamps what its successor sends.
    #[test]
    fn timestamps_of_either_source_are_counted_once_when_the_source_changes() {
        use TimestampSource::{Hardware, Software};
        let at = MonotonicTime::MIN;
        let mut shown = used(Hardware, 7);
        for (source, count, expected) in [(Software, 2, [7, 2]), (Hardware, 1, [8, 2])] {
            let carried = Carried::new(shown, at);
            shown = used(source, count);
            carried.add_to(&mut shown);
            let servers = shown.ntp.iter().flat_map(|ntp| &ntp.servers);
            let all = servers.map(|server| &server.stamps);
            let all = all.chain(shown.peers.iter().map(|peer| &peer.stamps));
            let all: Vec<_> = all
                .chain(shown.paths.iter().map(|path| &path.stamps))
                .collect();
            assert_eq!(all.len(), 3);
            for stamps in all {
                assert_eq!([stamps["hardware"], stamps["software"]], expected);
            }
        }
    }

    #[test]
    fn a_port_that_is_down_says_why_and_not_why_it_was_silent() {
        let mut shown = State::default();
        shown.ptp.push(PtpState {
            error: Some("no Announce message came".to_owned()),
            ..PtpState::default()
        });
        let carried = Carried::new(shown, MonotonicTime::MIN);
        let error = |why| carried.show(MonotonicTime::MIN, why).ptp[0].error.clone();
        assert_eq!(error(Some("eth0 is gone")).as_deref(), Some("eth0 is gone"));
        assert_eq!(error(None).as_deref(), Some("no Announce message came"));
    }
}
