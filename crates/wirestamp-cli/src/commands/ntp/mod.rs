//! `ntp`: asks NTP servers and reports how far this machine's clock is off. What an answer means is
//! `wirestamp-ntp`'s affair; this sends, receives and waits.

mod nts;
mod server;
mod text;
mod timestamps;

use crate::arguments;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Output, json};
use crate::session::Session;
use serde::Serialize;
use server::Server;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use timestamps::Clocks;
use wirestamp::{Error, ErrorKind, UdpSocket, UtcTime};
use wirestamp_ntp::{Agreement, Interval, Measurement, Selection, select};

/// How soon a signal is noticed while responses are awaited.
const NAP: Duration = Duration::from_millis(50);

#[derive(Serialize)]
struct Measured {
    servers: Vec<Row>,
    /// Whether the servers can be right together.
    agreement: &'static str,
    /// Of those that can: this clock minus UTC, as they claim; `None` without agreement.
    offset_ns: Option<i64>,
    error_bound_ns: Option<i64>,
    /// The bound holds if so many of the servers are right.
    right_servers: Option<usize>,
    /// Local UTC that these are of.
    #[serde(serialize_with = "json::some_time")]
    time: Option<i64>,
    interrupted: bool,
}

/// What is known of one server.
#[derive(Serialize)]
struct Row {
    host: String,
    address: Option<String>,
    /// "measured", or why not in a word.
    status: &'static str,
    /// The same in a sentence.
    reason: Option<String>,
    /// It cannot be right if `right_servers` are.
    falseticker: bool,
    /// This clock minus the server's.
    offset_ns: Option<i64>,
    /// Relative to the server's clock.
    error_bound_ns: Option<i64>,
    /// How far the server's clock may be from UTC, as it claims.
    root_bound_ns: Option<i64>,
    /// Relative to UTC, as the server claims.
    utc_bound_ns: Option<i64>,
    /// Least path delay, both directions together.
    path_delay_ns: Option<i64>,
    /// Local UTC that these are of.
    #[serde(serialize_with = "json::some_time")]
    time: Option<i64>,
    samples: u64,
    stratum: Option<u8>,
    reference: Option<String>,
    precision_log2_s: Option<i8>,
    root_delay_ns: Option<i64>,
    root_dispersion_ns: Option<i64>,
    /// A leap second that the server announces.
    leap: Option<&'static str>,
    interface: Option<String>,
    /// Whose timestamps: "hardware" or "software".
    source: Option<&'static str>,
    /// Whether each response was authenticated (NTS).
    authenticated: bool,
    requests: u64,
    responses: u64,
    interleaved: u64,
    unanswered: u64,
    /// Responses without a sample, and packets that were no responses, by reason; without those that are 0.
    lost: BTreeMap<String, u64>,
    /// How often a clock was seen to be stepped.
    local_steps: u64,
    server_steps: u64,
}

pub(super) fn run(
    arguments: &arguments::Ntp,
    session: &Session,
    output: &mut Output,
) -> Result<Exit, Failure> {
    if session.is_simulated() {
        let cause = "there is no NTP server in the simulation";
        let error = Error::new(
            ErrorKind::InvalidInput,
            "measure the offset",
            "NTP servers",
            cause,
        );
        return Err(error.with_remedy("leave --sim out").into());
    }
    session.listen_to_interrupts();
    let mut clocks = Clocks::new(arguments.source);
    let trust = match arguments.nts {
        true => Some(nts::Trust::new(arguments.nts_ca.as_deref())?),
        false => None,
    };
    let mut servers = Vec::new();
    for target in &arguments.hosts {
        servers.push(Server::open(
            target,
            arguments,
            trust.as_ref(),
            &mut clocks,
        )?);
    }
    let progress = output.progress(arguments.count.into(), "requests");
    let mut asked = 0;
    while asked < arguments.count && !session.is_interrupted() {
        let begun = Instant::now();
        servers.iter_mut().for_each(|server| server.ask(asked));
        wait(&mut servers, begun + arguments.timeout, session)?;
        asked += 1;
        progress.set_position(asked.into());
        if servers.iter().all(Server::is_over) {
            break;
        }
        if asked < arguments.count {
            session.pass(arguments.interval.saturating_sub(begun.elapsed()), false)?;
        }
    }
    progress.finish_and_clear();
    let interrupted = session.is_interrupted() && asked < arguments.count;
    let (measured, exit) = judge(servers, interrupted);
    output.report(&measured)?;
    Ok(exit)
}

/// Takes what comes until each open request is answered or late.
fn wait(servers: &mut [Server], until: Instant, session: &Session) -> Result<(), Error> {
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let sockets: Vec<&UdpSocket> = servers.iter().filter_map(Server::awaits).collect();
        if sockets.is_empty() || left.is_zero() || session.is_interrupted() {
            break;
        }
        UdpSocket::wait_any(&sockets, left.min(NAP))?;
        servers.iter_mut().for_each(Server::take);
    }
    servers.iter_mut().for_each(Server::give_up);
    Ok(())
}

/// Compares the servers at one instant, and says how to end.
fn judge(servers: Vec<Server>, interrupted: bool) -> (Measured, Exit) {
    let known: Vec<_> = servers.iter().map(Server::measurement).collect();
    let at = known.iter().flatten().map(|one| one.at).max();
    let (places, intervals): (Vec<_>, Vec<_>) = servers
        .iter()
        .enumerate()
        .filter_map(|(place, server)| {
            let held: Measurement = server.measurement_at(at?)?;
            Some((place, Interval::around(held.offset, held.utc_bound())))
        })
        .unzip();
    let Selection {
        agreement,
        interval,
        falsetickers,
        right,
        ..
    } = select(&intervals);
    let falsetickers: Vec<_> = falsetickers.iter().map(|index| places[*index]).collect();
    let is_lossy = servers.iter().any(Server::is_lossy);
    let exit = match agreement {
        Agreement::None | Agreement::Disagreement => Exit::Failed,
        _ if is_lossy => Exit::Lossy,
        _ => Exit::Success,
    };
    let together = interval.map(|interval| interval.middle());
    let rows = servers.into_iter().enumerate();
    let measured = Measured {
        servers: rows
            .map(|(place, server)| server.into_row(falsetickers.contains(&place)))
            .collect(),
        agreement: agreement.name(),
        offset_ns: together.map(|(offset, _)| offset.saturating_nanoseconds()),
        error_bound_ns: together.map(|(_, bound)| bound.saturating_nanoseconds()),
        right_servers: together.map(|_| right),
        time: together.and(at).map(UtcTime::nanoseconds),
        interrupted,
    };
    (measured, exit)
}
