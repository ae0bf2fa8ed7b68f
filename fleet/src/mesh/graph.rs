//! The difference constraints as a graph. Node `n` of `n` hosts is UTC. Solves nothing.

use super::{Assumptions, Link};

/// No clock moves further: sums with it are far from what 64 bits hold.
const MOST_MOVED: i64 = 1 << 58;

/// `x_to − x_from ≤ limit`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arc {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) limit: i64,
    /// The link or claim that it comes from: both directions of one have the same number.
    pub(super) source: u32,
}

/// Arcs by the node they start at.
#[derive(Debug)]
pub(super) struct Adjacency {
    starts: Vec<u32>,
    arcs: Vec<Arc>,
}

#[derive(Debug)]
pub(super) struct Graph {
    pub(super) forward: Adjacency,
    pub(super) reverse: Adjacency,
    hosts: u32,
    excluded: Vec<bool>,
}

impl Adjacency {
    fn new(nodes: usize, arcs: &[Arc]) -> Self {
        let mut starts = vec![0; nodes + 2];
        for arc in arcs {
            starts[arc.from as usize + 2] += 1;
        }
        for node in 2..starts.len() {
            starts[node] += starts[node - 1];
        }
        let mut sorted = arcs.to_vec();
        for arc in arcs {
            let place = &mut starts[arc.from as usize + 1];
            sorted[*place as usize] = *arc;
            *place += 1;
        }
        starts.pop();
        Self {
            starts,
            arcs: sorted,
        }
    }

    pub(super) fn nodes(&self) -> usize {
        self.starts.len() - 1
    }

    pub(super) fn of(&self, node: u32) -> &[Arc] {
        let node = node as usize;
        &self.arcs[self.starts[node] as usize..self.starts[node + 1] as usize]
    }

    pub(super) fn arcs(&self) -> &[Arc] {
        &self.arcs
    }

    fn retain(&mut self, keep: impl Fn(&Arc) -> bool) {
        let kept: Vec<_> = self.arcs.iter().filter(|arc| keep(arc)).copied().collect();
        *self = Self::new(self.nodes(), &kept);
    }
}

/// What a clock can have moved in the time by which it is off.
fn moved(estimate: Option<f64>, rate: i64) -> i64 {
    let off = estimate.unwrap_or(0.0).abs().ceil() as i128;
    let moved = (off * i128::from(rate) + 999_999_999) / 1_000_000_000;
    i64::try_from(moved).map_or(MOST_MOVED, |moved| moved.min(MOST_MOVED))
}

impl Graph {
    pub(super) fn new(
        hosts: usize,
        links: &[Link],
        claims: &[Option<i64>],
        assumptions: Assumptions,
        estimates: &[Option<f64>],
    ) -> Self {
        let steady = 2 * (assumptions.drift + assumptions.timestamp_error);
        let moved = |host: u32| moved(estimates[host as usize], assumptions.rate);
        let mut arcs = Vec::with_capacity(2 * (links.len() + claims.len()));
        for (source, link) in links.iter().enumerate() {
            let (from, to, source) = (link.from, link.to, source as u32);
            // by the sender's time, both clocks were read so much earlier or later
            let slack = steady + 2 * moved(from);
            if let Some(forward) = link.forward {
                let limit = forward - link.least_forward + slack;
                arcs.push(Arc {
                    from,
                    to,
                    limit,
                    source,
                });
            }
            if let Some(backward) = link.backward {
                let limit = backward - link.least_backward + slack;
                arcs.push(Arc {
                    from: to,
                    to: from,
                    limit,
                    source,
                });
            }
        }
        let utc = hosts as u32;
        for (host, claim) in claims.iter().enumerate() {
            let (host, source) = (host as u32, (links.len() + host) as u32);
            if let Some(claim) = *claim {
                let limit = claim + moved(host);
                arcs.push(Arc {
                    from: utc,
                    to: host,
                    limit,
                    source,
                });
                arcs.push(Arc {
                    from: host,
                    to: utc,
                    limit,
                    source,
                });
            }
        }
        let reverse = |arc: &Arc| Arc {
            from: arc.to,
            to: arc.from,
            ..*arc
        };
        let reversed: Vec<_> = arcs.iter().map(reverse).collect();
        Self {
            forward: Adjacency::new(hosts + 1, &arcs),
            reverse: Adjacency::new(hosts + 1, &reversed),
            hosts: utc,
            excluded: vec![false; hosts + 1],
        }
    }

    pub(super) fn utc(&self) -> u32 {
        self.hosts
    }

    pub(super) fn is_excluded(&self, host: u32) -> bool {
        self.excluded[host as usize]
    }

    pub(super) fn is_used(&self, arc: &Arc) -> bool {
        !self.is_excluded(arc.from) && !self.is_excluded(arc.to)
    }

    pub(super) fn exclude_host(&mut self, host: u32) {
        self.excluded[host as usize] = true;
    }

    /// Drops every arc that is not used: those of excluded hosts, and of the links named here.
    pub(super) fn drop_unused(&mut self, links: &[bool]) {
        let excluded = &self.excluded;
        let keep = |arc: &Arc| {
            !excluded[arc.from as usize]
                && !excluded[arc.to as usize]
                && !links[arc.source as usize]
        };
        self.forward.retain(keep);
        self.reverse.retain(keep);
    }

    /// Which links are used: those of hosts that are not excluded, unless they were dropped.
    pub(super) fn used(&self, links: &[Link]) -> Vec<bool> {
        let mut used = vec![false; self.sources().max(links.len())];
        for arc in self.forward.arcs() {
            used[arc.source as usize] = true;
        }
        used.truncate(links.len());
        used
    }

    /// More than the greatest number of an arc's source.
    pub(super) fn sources(&self) -> usize {
        self.forward
            .arcs()
            .iter()
            .map(|arc| arc.source as usize + 1)
            .max()
            .unwrap_or(0)
    }
}
