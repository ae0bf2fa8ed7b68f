//! Finds offsets that satisfy all constraints, and leaves out what makes that impossible. Bellman and Ford's algorithm with a
//! queue, from an estimate that satisfies nearly all of them already.

use super::Cycle;
use super::graph::{Arc, Graph};
use std::collections::VecDeque;

/// After so many lowered offsets, a cycle is looked for.
const LOOK: usize = 512;

/// Offsets that satisfy every constraint of a graph.
#[derive(Debug)]
pub(super) struct Feasible(Vec<i128>);

impl Feasible {
    pub(super) fn at(&self, node: u32) -> i128 {
        self.0[node as usize]
    }

    /// What the arc leaves room for: not negative.
    pub(super) fn reduced(&self, arc: &Arc) -> i128 {
        i128::from(arc.limit) + self.at(arc.from) - self.at(arc.to)
    }

    /// The same for the reversed graph.
    pub(super) fn reversed(&self) -> Self {
        Self(self.0.iter().map(|offset| -offset).collect())
    }
}

/// Excludes hosts and links until no negative cycle is left.
pub(super) fn exclude(graph: &mut Graph, estimates: &[Option<f64>]) -> (Feasible, Vec<Cycle>) {
    let start: Vec<_> = (0..graph.forward.nodes())
        .map(|node| {
            estimates
                .get(node)
                .copied()
                .flatten()
                .unwrap_or(0.0)
                .round() as i128
        })
        .collect();
    let blame = Blame::new(graph, &Feasible(start.clone()));
    let mut search = Search::new(graph, start);
    let mut cycles = Vec::new();
    while let Some(arcs) = search.negative_cycle(graph) {
        cycles.push(blame.exclude(graph, &mut search, &arcs));
    }
    graph.drop_unused(&search.dropped);
    (Feasible(search.offsets), cycles)
}

/// How many of a node's arcs the estimate contradicts.
struct Blame {
    contradicted: Vec<u32>,
    arcs: Vec<u32>,
    start: Feasible,
}

impl Blame {
    fn new(graph: &Graph, start: &Feasible) -> Self {
        let mut contradicted = vec![0; graph.forward.nodes()];
        let mut arcs = vec![0; graph.forward.nodes()];
        for arc in graph.forward.arcs() {
            for node in [arc.from, arc.to] {
                arcs[node as usize] += 1;
                contradicted[node as usize] += u32::from(start.reduced(arc) < 0);
            }
        }
        Self {
            contradicted,
            arcs,
            start: Feasible(start.0.clone()),
        }
    }

    /// Excludes the host on the cycle that most contradicts the estimate, if much of what is known of it does or its own claim
    /// does; otherwise the link on the cycle that contradicts it most.
    fn exclude(&self, graph: &mut Graph, search: &mut Search, arcs: &[Arc]) -> Cycle {
        let utc = graph.utc();
        let hosts: Vec<u32> = arcs
            .iter()
            .map(|arc| arc.from)
            .filter(|node| *node != utc)
            .collect();
        let excess: i128 = arcs.iter().map(|arc| i128::from(arc.limit)).sum();
        // every negative cycle has an arc that the estimate contradicts
        let worst = arcs.iter().min_by_key(|arc| self.start.reduced(arc));
        let by_claim = worst.and_then(|arc| match arc {
            arc if arc.from == utc => Some(arc.to),
            arc if arc.to == utc => Some(arc.from),
            _ => None,
        });
        let share = |host: &u32| {
            let host = *host as usize;
            (u64::from(self.contradicted[host]) << 32) / u64::from(self.arcs[host].max(1))
        };
        let most = hosts
            .iter()
            .copied()
            .max_by_key(|host| (share(host), std::cmp::Reverse(*host)));
        let blamed = by_claim.or_else(|| most.filter(|host| share(host) > (1 << 32) / 4));
        let link = worst.filter(|_| blamed.is_none());
        match (blamed, link) {
            (Some(host), _) => graph.exclude_host(host),
            (None, Some(arc)) => search.dropped[arc.source as usize] = true,
            (None, None) => {}
        }
        Cycle {
            through_utc: hosts.len() < arcs.len(),
            hosts,
            excess: i64::try_from(-excess).unwrap_or(i64::MAX),
            blamed,
            link: link.map(|arc| (arc.from.min(arc.to), arc.from.max(arc.to))),
        }
    }
}

/// The state of the search, which goes on after each exclusion.
struct Search {
    offsets: Vec<i128>,
    /// The arc that last lowered each node's offset.
    parents: Vec<Option<Arc>>,
    queue: VecDeque<u32>,
    queued: Vec<bool>,
    /// Links that are left out.
    dropped: Vec<bool>,
    /// In which walk along the parents a node was last seen; walks are numbered from 1.
    seen: Vec<u64>,
    walk: u64,
}

impl Search {
    fn new(graph: &Graph, offsets: Vec<i128>) -> Self {
        let nodes = offsets.len();
        Self {
            offsets,
            parents: vec![None; nodes],
            queue: (0..nodes as u32).collect(),
            queued: vec![true; nodes],
            dropped: vec![false; graph.sources()],
            seen: vec![0; nodes],
            walk: 0,
        }
    }

    /// Lowers offsets until all constraints hold (`None`), or until the arcs that lowered them form a cycle: its length is
    /// negative. With such a cycle, offsets would be lowered for ever.
    fn negative_cycle(&mut self, graph: &Graph) -> Option<Vec<Arc>> {
        let mut lowered = 0;
        while let Some(node) = self.queue.pop_front() {
            self.queued[node as usize] = false;
            for arc in graph.forward.of(node) {
                let through = self.offsets[node as usize] + i128::from(arc.limit);
                let to = arc.to as usize;
                if through < self.offsets[to] && self.is_used(graph, arc) {
                    self.offsets[to] = through;
                    self.parents[to] = Some(*arc);
                    lowered += 1;
                    self.look_at(arc.to);
                }
            }
            if lowered >= LOOK {
                lowered = 0;
                if let Some(cycle) = self.cycle_in_parents(graph) {
                    cycle.iter().for_each(|arc| self.look_at(arc.from));
                    return Some(cycle);
                }
            }
        }
        None
    }

    fn is_used(&self, graph: &Graph, arc: &Arc) -> bool {
        !self.dropped[arc.source as usize] && graph.is_used(arc)
    }

    fn look_at(&mut self, node: u32) {
        if !std::mem::replace(&mut self.queued[node as usize], true) {
            self.queue.push_back(node);
        }
    }

    /// Follows the arcs that lowered each node, from every node; each node is passed once.
    fn cycle_in_parents(&mut self, graph: &Graph) -> Option<Vec<Arc>> {
        let before = self.walk;
        for start in 0..self.offsets.len() {
            self.walk += 1;
            let mut node = start;
            while self.seen[node] <= before {
                self.seen[node] = self.walk;
                match self.parents[node] {
                    Some(arc) if self.is_used(graph, &arc) => node = arc.from as usize,
                    _ => break,
                }
            }
            let closed = self.seen[node] == self.walk;
            if let Some(cycle) = closed.then(|| self.cycle_through(graph, node)).flatten() {
                return Some(cycle);
            }
        }
        None
    }

    /// `None` if the way back ends before it comes to `start` again.
    fn cycle_through(&self, graph: &Graph, start: usize) -> Option<Vec<Arc>> {
        let mut cycle = Vec::new();
        let mut node = start;
        loop {
            let arc = self.parents[node].filter(|arc| self.is_used(graph, arc))?;
            cycle.push(arc);
            node = arc.from as usize;
            if node == start {
                cycle.reverse();
                return Some(cycle);
            }
        }
    }
}
