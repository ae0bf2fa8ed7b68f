//! Shortest paths by Dijkstra's algorithm, on lengths that a feasible assignment makes non-negative (Johnson).

use super::cycles::Feasible;
use super::graph::Adjacency;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The length of the shortest path to each node; `None`: there is no path.
pub(super) fn from(graph: &Adjacency, feasible: &Feasible, origin: u32) -> Vec<Option<i64>> {
    let mut lengths: Vec<Option<i128>> = vec![None; graph.nodes()];
    let mut heap = BinaryHeap::new();
    lengths[origin as usize] = Some(0);
    heap.push(Reverse((0, origin)));
    while let Some(Reverse((length, node))) = heap.pop() {
        if lengths[node as usize].is_some_and(|least| least < length) {
            continue;
        }
        for arc in graph.of(node) {
            let through = length + feasible.reduced(arc);
            let least = &mut lengths[arc.to as usize];
            if least.is_none_or(|least| through < least) {
                *least = Some(through);
                heap.push(Reverse((through, arc.to)));
            }
        }
    }
    let back = |(node, length): (usize, Option<i128>)| {
        let length = length? + feasible.at(node as u32) - feasible.at(origin);
        i64::try_from(length).ok()
    };
    lengths.into_iter().enumerate().map(back).collect()
}
