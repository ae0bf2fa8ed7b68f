//! The offsets that fit the links best: weighted least squares, with the weights of links that do not fit lowered again and
//! again. Guarantees nothing: that is `paths`.

use super::Link;

/// How often the weights are set anew.
const ROUNDS: usize = 12;
/// Conjugate gradients end here at the latest. A long, thin mesh takes as many steps as it has hosts, others some dozens. The last
/// round has as many steps as all of them, because weights that are far apart take more.
const MOST_STEPS: usize = 2_000;
/// Remaining error, relative: far below a nanosecond for offsets of seconds.
const ENOUGH: f64 = 1e-13;
/// A round ends once no offset would move by more than so many nanoseconds by itself; the last one goes on. Along a chain of
/// hundreds of hosts, what remains adds up: with half a nanosecond, links that are right were doubted.
const ROUND: f64 = 0.01;
/// What a link that was never delayed is trusted to, in nanoseconds.
const FLOOR: f64 = 4.0;
/// Residuals beyond so many times the median count for little.
const DOUBT: f64 = 4.0;

/// `x_to − x_from` is about `value`.
struct Observation {
    from: u32,
    to: u32,
    value: f64,
    spread: f64,
}

/// The offset of each host in nanoseconds; `None`: it has no link with both directions. What all of a connected part have in
/// common is set by the median of what its hosts claim, or else of its hosts.
/// `near`: where the search begins.
pub(super) fn offsets(
    near: &[Option<f64>],
    links: &[Link],
    claims: &[Option<i64>],
) -> Vec<Option<f64>> {
    let hosts = near.len();
    let observations: Vec<_> = links.iter().filter_map(Observation::of).collect();
    let mut offsets: Vec<_> = near.iter().map(|offset| offset.unwrap_or(0.0)).collect();
    let mut weights: Vec<_> = observations
        .iter()
        .map(|seen| seen.spread.powi(-2))
        .collect();
    for _ in 0..ROUNDS {
        least_squares(&observations, &weights, &mut offsets, ROUND, MOST_STEPS);
        doubt(&observations, &offsets, &mut weights);
    }
    let steps = ROUNDS * MOST_STEPS;
    least_squares(&observations, &weights, &mut offsets, 0.0, steps);
    let parts = parts(hosts, &observations);
    center(&parts, claims, &mut offsets);
    let mut known = vec![false; hosts];
    for seen in &observations {
        known[seen.from as usize] = true;
        known[seen.to as usize] = true;
    }
    offsets
        .into_iter()
        .zip(known)
        .map(|(offset, known)| known.then_some(offset))
        .collect()
}

impl Observation {
    /// Half the difference of both directions; half their sum is how far the delays may have been apart.
    fn of(link: &Link) -> Option<Self> {
        let forward = (link.forward? - link.least_forward) as f64;
        let backward = (link.backward? - link.least_backward) as f64;
        Some(Self {
            from: link.from,
            to: link.to,
            value: (forward - backward) / 2.0,
            spread: FLOOR + ((forward + backward) / 2.0).abs(),
        })
    }

    fn residual(&self, offsets: &[f64]) -> f64 {
        offsets[self.to as usize] - offsets[self.from as usize] - self.value
    }
}

/// Geman and McClure's weights: a link that is far off loses nearly all of its own.
fn doubt(observations: &[Observation], offsets: &[f64], weights: &mut [f64]) {
    let relative = |seen: &Observation| seen.residual(offsets).abs() / seen.spread;
    let mut sizes: Vec<_> = observations.iter().map(relative).collect();
    let middle = sizes.len() / 2;
    if sizes.is_empty() {
        return;
    }
    let (_, median, _) = sizes.select_nth_unstable_by(middle, f64::total_cmp);
    let scale = DOUBT * median.max(1e-3);
    for (seen, weight) in observations.iter().zip(weights) {
        let fit = 1.0 + (relative(seen) / scale).powi(2);
        *weight = seen.spread.powi(-2) / (fit * fit);
    }
}

/// Improves the offsets by conjugate gradients with Jacobi's preconditioner. The matrix is the graph's Laplacian, which a list of
/// links multiplies by faster than any stored form, and needs no factors. Ends once no offset would
/// move by `close` nanoseconds by itself, what remains is nothing beside the values, or after `most_steps`.
fn least_squares(
    observations: &[Observation],
    weights: &[f64],
    offsets: &mut [f64],
    close: f64,
    most_steps: usize,
) {
    let hosts = offsets.len();
    let (mut diagonal, mut residual) = (vec![0.0; hosts], vec![0.0; hosts]);
    let mut scale = 0.0;
    for (seen, weight) in observations.iter().zip(weights) {
        let (from, to) = (seen.from as usize, seen.to as usize);
        let pull = -weight * seen.residual(offsets);
        residual[to] += pull;
        residual[from] -= pull;
        diagonal[to] += weight;
        diagonal[from] += weight;
        scale += weight * seen.value * seen.value;
    }
    let solve = |residual: &[f64], into: &mut [f64]| {
        for ((into, residual), diagonal) in into.iter_mut().zip(residual).zip(&diagonal) {
            *into = if *diagonal > 0.0 {
                residual / diagonal
            } else {
                0.0
            };
        }
    };
    let mut solved = vec![0.0; hosts];
    solve(&residual, &mut solved);
    let mut direction = solved.clone();
    let mut product = vec![0.0; hosts];
    let mut size = dot(&residual, &solved);
    for _ in 0..most_steps {
        let is_close = || solved.iter().all(|step| step.abs() < close);
        if size <= scale * ENOUGH * ENOUGH || size <= 0.0 || is_close() {
            break;
        }
        product.fill(0.0);
        for (seen, weight) in observations.iter().zip(weights) {
            let (from, to) = (seen.from as usize, seen.to as usize);
            let flow = weight * (direction[to] - direction[from]);
            product[to] += flow;
            product[from] -= flow;
        }
        let curvature = dot(&direction, &product);
        if curvature <= 0.0 {
            break;
        }
        let step = size / curvature;
        for host in 0..hosts {
            offsets[host] += step * direction[host];
            residual[host] -= step * product[host];
        }
        solve(&residual, &mut solved);
        let next = dot(&residual, &solved);
        let ratio = next / size;
        size = next;
        for (direction, solved) in direction.iter_mut().zip(&solved) {
            *direction = solved + ratio * *direction;
        }
    }
}

fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

/// The smallest host of each host's connected part, by union and find.
fn parts(hosts: usize, observations: &[Observation]) -> Vec<u32> {
    let mut parts: Vec<u32> = (0..hosts as u32).collect();
    fn root(parts: &mut [u32], mut host: u32) -> u32 {
        while parts[host as usize] != host {
            parts[host as usize] = parts[parts[host as usize] as usize];
            host = parts[host as usize];
        }
        host
    }
    for seen in observations {
        let (from, to) = (root(&mut parts, seen.from), root(&mut parts, seen.to));
        parts[from.max(to) as usize] = from.min(to);
    }
    (0..hosts as u32)
        .map(|host| root(&mut parts, host))
        .collect()
}

/// Shifts each part so that the weighted median of its hosts is zero: a host that claims to be close to UTC weighs much.
fn center(parts: &[u32], claims: &[Option<i64>], offsets: &mut [f64]) {
    let weight = |host: usize| match claims.get(host) {
        Some(claim) => claim.map_or(0.0, |claim| 1.0 / (claim as f64 + 1.0)),
        None => 1.0,
    };
    let mut hosts: Vec<_> = (0..parts.len()).collect();
    hosts.sort_by(|one, other| {
        parts[*one]
            .cmp(&parts[*other])
            .then(offsets[*one].total_cmp(&offsets[*other]))
            .then(one.cmp(other))
    });
    for part in hosts.chunk_by(|one, other| parts[*one] == parts[*other]) {
        let half = part.iter().map(|host| weight(*host)).sum::<f64>() / 2.0;
        let mut so_far = 0.0;
        let middle = part.iter().find(|host| {
            so_far += weight(**host);
            so_far >= half
        });
        let shift = middle.map_or(0.0, |host| offsets[*host]);
        part.iter().for_each(|host| offsets[*host] -= shift);
    }
}
