//! Clocks of a fleet in one window, from probes between hosts: guaranteed bounds, an estimate, and who contradicts whom.
//!
//! A probe from host `a` to host `b` shows `D`, the receive time by `b`'s clock minus the transmit time by `a`'s. With `x` the
//! offset of a clock (positive: ahead) and a delay of at least `d`, `x_b − x_a ≤ D − d`: a difference constraint. Over all
//! links, the tightest upper bound of `x_v − x_r` is the length of the shortest path from `r` to `v`, and a cycle of
//! negative length proves that something on it is not as assumed. Halpern, Megiddo and Munshi (Optimal precision in the presence of
//! uncertainty, Journal of Complexity 1, 1985) treat delays within known limits; Attiya, Herzberg and Rajsbaum (Optimal clock
//! synchronization under different delay assumptions, SIAM Journal on Computing 25, 1996) the best precision of each single run,
//! also with lower limits alone, which is the case here. Both assume clocks that do not drift: what drift and timestamps may add is
//! part of each constraint here, so that bounds hold but need not be the tightest.
//!
//! Nothing here reads or writes anything.

mod cycles;
mod estimate;
mod graph;
mod paths;

use cycles::Feasible;
use graph::Graph;
use std::fmt;

/// Greatest difference that a link may show, in nanoseconds (104 days): what a double holds exactly.
pub const MOST: i64 = 1 << 53;
/// Greatest number of hosts.
pub const MOST_HOSTS: usize = 1 << 24;

/// What the probes between two hosts showed. Nanoseconds; each side by its own clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// The host that sent the probes.
    pub from: u32,
    /// The host that received and answered them.
    pub to: u32,
    /// Least receive time at `to` minus transmit time at `from`; `None`: no probe arrived.
    pub forward: Option<i64>,
    /// Least receive time at `from` minus transmit time at `to`.
    pub backward: Option<i64>,
    /// The delay forward is at least this.
    pub least_forward: i64,
    /// The delay backward is at least this.
    pub least_backward: i64,
}

/// What is assumed of all hosts, and therefore part of each bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Assumptions {
    /// A clock moves against true time by at most so many nanoseconds within the window, from its middle.
    pub drift: i64,
    /// A clock's frequency is off by at most so many parts in 10⁹. A window is of its senders' time: what a clock that is seconds off
    /// files under it was seconds earlier or later, and clocks have moved meanwhile.
    pub rate: i64,
    /// A host's transmit timestamps and its receive timestamps are each at most so far off, in nanoseconds. No mesh can
    /// see a constant error.
    pub timestamp_error: i64,
}

/// What offsets are measured from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reference {
    /// A host's clock.
    Host(u32),
    /// UTC, as hosts state it: host `h` says that its clock is within `claims[h]` nanoseconds of UTC.
    Utc,
}

/// Why a host has no bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Excluded {
    /// It contradicts the others: it is on a negative cycle, and most of what is known of it does not fit.
    Contradicts,
    /// No links lead from it to the reference and back.
    Unreachable,
}

/// Links or hosts that contradict each other: their differences add up to less than the least delays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cycle {
    /// The hosts on it, in order.
    pub hosts: Vec<u32>,
    /// Whether a host's own claim about UTC is part of it.
    pub through_utc: bool,
    /// By how much, in nanoseconds.
    pub excess: i64,
    /// Which host was left out because of it; `None`: only a link was.
    pub blamed: Option<u32>,
    /// The hosts of the link that was left out because of it, if no host was; the smaller one first.
    pub link: Option<(u32, u32)>,
}

/// A host's offset against the reference, in nanoseconds (positive: its clock is ahead).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offset {
    /// The estimate, within the bounds.
    pub estimate: i64,
    /// The least that it can be under the assumptions.
    pub earliest: i64,
    /// The most that it can be.
    pub latest: i64,
}

/// The clocks of one window.
#[derive(Debug)]
pub struct Solution {
    /// Each host's offset, or why there is none.
    pub offsets: Vec<Result<Offset, Excluded>>,
    /// An estimate for every host that has links, before it is clamped into the bounds: of those left out, it shows how far off they are.
    /// The others' rests on what was not left out.
    pub estimates: Vec<Option<i64>>,
    /// What was found to be contradictory, in the order it was found.
    pub cycles: Vec<Cycle>,
    graph: Graph,
    feasible: Feasible,
}

/// The input makes no sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Invalid {
    /// A link or the reference names a host that does not exist, or there are more than [`MOST_HOSTS`].
    Host(u32),
    /// The values of this link are beyond [`MOST`], or it leads from a host to itself.
    Link(usize),
    /// There are not as many claims as hosts, or one is negative.
    Claims,
    /// An assumption is negative or beyond [`MOST`].
    Assumptions,
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host(host) => write!(f, "there is no host {host}"),
            Self::Link(link) => write!(
                f,
                "link {link} has values beyond {MOST} ns, or leads to its own host"
            ),
            Self::Claims => f.write_str("there must be one claim a host, none of them negative"),
            Self::Assumptions => write!(f, "assumptions must be between 0 and {MOST}"),
        }
    }
}

impl std::error::Error for Invalid {}

/// Solves one window.
///
/// `claims`: for each host, within how many nanoseconds of UTC it says it is; `None`: it says nothing. Used only with
/// [`Reference::Utc`].
///
/// # Errors
/// [`Invalid`]: the input makes no sense.
pub fn solve(
    links: &[Link],
    claims: &[Option<i64>],
    reference: Reference,
    assumptions: Assumptions,
) -> Result<Solution, Invalid> {
    check(links, claims, reference, assumptions)?;
    let hosts = claims.len();
    let claims: &[_] = if reference == Reference::Utc {
        claims
    } else {
        &[]
    };
    let fitted = estimate::offsets(&vec![None; hosts], links, claims);
    let mut graph = Graph::new(hosts, links, claims, assumptions, &fitted);
    let (feasible, cycles) = cycles::exclude(&mut graph, &fitted);
    let origin = match reference {
        Reference::Host(host) => host,
        Reference::Utc => graph.utc(),
    };
    let latest = paths::from(&graph.forward, &feasible, origin);
    let earliest = paths::from(&graph.reverse, &feasible.reversed(), origin);
    let first = against(&fitted, reference);
    let estimates = if cycles.is_empty() {
        first
    } else {
        let again = without_excluded(&graph, links, claims, &fitted);
        let again = against(&again, reference);
        let keep = |(again, first): (Option<i64>, Option<i64>)| again.or(first);
        again.into_iter().zip(first).map(keep).collect()
    };
    let offsets = (0..hosts).map(|host| {
        if graph.is_excluded(host as u32) {
            return Err(Excluded::Contradicts);
        }
        let (Some(latest), Some(earliest)) = (latest[host], earliest[host]) else {
            return Err(Excluded::Unreachable);
        };
        let earliest = -earliest;
        let estimate = estimates[host].unwrap_or(i64::midpoint(earliest, latest));
        Ok(Offset {
            estimate: estimate.clamp(earliest, latest),
            earliest,
            latest,
        })
    });
    Ok(Solution {
        offsets: offsets.collect(),
        estimates,
        cycles,
        graph,
        feasible,
    })
}

/// The estimate from what no contradiction has cost.
fn without_excluded(
    graph: &Graph,
    links: &[Link],
    claims: &[Option<i64>],
    near: &[Option<f64>],
) -> Vec<Option<f64>> {
    let used = graph.used(links);
    let kept: Vec<_> = links
        .iter()
        .zip(used)
        .filter_map(|(link, used)| used.then_some(*link))
        .collect();
    estimate::offsets(near, &kept, claims)
}

/// Estimates in whole nanoseconds from the reference.
fn against(estimates: &[Option<f64>], reference: Reference) -> Vec<Option<i64>> {
    let zero = match reference {
        Reference::Host(host) => estimates[host as usize].unwrap_or(0.0),
        Reference::Utc => 0.0,
    };
    let rounded = |estimate: f64| (estimate - zero).round() as i64;
    estimates
        .iter()
        .map(|estimate| estimate.map(rounded))
        .collect()
}

impl Solution {
    /// Returns for each host the least and the most that its clock can be ahead of `origin`'s; `None` where nothing is
    /// known. Tighter than the difference of two offsets.
    pub fn against(&self, origin: u32) -> Vec<Option<(i64, i64)>> {
        let latest = paths::from(&self.graph.forward, &self.feasible, origin);
        let earliest = paths::from(&self.graph.reverse, &self.feasible.reversed(), origin);
        let both = earliest.into_iter().zip(latest).take(self.offsets.len());
        both.map(|(earliest, latest)| Some((-earliest?, latest?)))
            .collect()
    }
}

fn check(
    links: &[Link],
    claims: &[Option<i64>],
    reference: Reference,
    assumptions: Assumptions,
) -> Result<(), Invalid> {
    let hosts = claims.len();
    if hosts > MOST_HOSTS {
        return Err(Invalid::Host(MOST_HOSTS as u32));
    }
    let known = |host: u32| {
        if (host as usize) < hosts {
            Ok(())
        } else {
            Err(Invalid::Host(host))
        }
    };
    let sane = |value: i64| value.unsigned_abs() <= MOST.unsigned_abs();
    for (index, link) in links.iter().enumerate() {
        known(link.from)?;
        known(link.to)?;
        let seen = link.forward.into_iter().chain(link.backward);
        let mut values = seen.chain([link.least_forward, link.least_backward]);
        if link.from == link.to || !values.all(sane) {
            return Err(Invalid::Link(index));
        }
    }
    if let Reference::Host(host) = reference {
        known(host)?;
    }
    if !claims
        .iter()
        .flatten()
        .all(|claim| (0..=MOST).contains(claim))
    {
        return Err(Invalid::Claims);
    }
    let all = [
        assumptions.drift,
        assumptions.rate,
        assumptions.timestamp_error,
    ];
    all.iter()
        .all(|value| (0..=MOST).contains(value))
        .then_some(())
        .ok_or(Invalid::Assumptions)
}
