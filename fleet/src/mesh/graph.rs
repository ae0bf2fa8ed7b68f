//! The difference constraints as a graph. Node `n` of `n` hosts is UTC. Solves nothing.

use super::{Assumptions, Link};

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

impl Graph {
    pub(super) fn new(
        hosts: usize,
        links: &[Link],
        claims: &[Option<i64>],
        assumptions: Assumptions,
    ) -> Self {
        let slack = 2 * (assumptions.drift + assumptions.timestamp_error);
        let mut arcs = Vec::with_capacity(2 * (links.len() + claims.len()));
        for (source, link) in links.iter().enumerate() {
            let (from, to, source) = (link.from, link.to, source as u32);
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
            if let Some(limit) = *claim {
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
