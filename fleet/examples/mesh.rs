//! Measures the mesh on a simulated fleet: `cargo run --release --example mesh [HOSTS [LINKS [WINDOWS [LYING]]]]`.
//!
//! Each host probes LINKS random others ten times a window; of each direction the least difference counts. Queues delay a probe
//! by an exponentially distributed time, the same queue for all probes of a link in part. LYING of a thousand links show
//! 1 to 20 µs too little or too much in one direction. Prints how often the truth lay outside of the bounds (of each host to
//! host 0, and of all hosts to ten others), and how far the estimate lay from the truth beside a single link's.

use std::fs;
use std::time::Instant;
use wirestamp_fleet_kernels::mesh::{Assumptions, Link, Reference, solve};

struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: u64) -> i64 {
        (self.next() % limit).cast_signed()
    }

    fn exponential(&mut self, mean: f64) -> i64 {
        let uniform = ((self.next() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
        (-uniform.ln() * mean) as i64
    }
}

fn main() {
    let numbers: Vec<u64> = std::env::args()
        .skip(1)
        .map(|number| number.parse().expect("a number"))
        .collect();
    let number = |place: usize, default| numbers.get(place).copied().unwrap_or(default);
    let (hosts, links) = (number(0, 10_000), number(1, 10));
    let (windows, lying) = (number(2, 1), number(3, 20));
    let (mut outside, mut compared, mut took) = (0u64, 0u64, 0.0);
    let (mut errors, mut single) = (Vec::new(), Vec::new());
    let mut widths = Vec::new();
    for window in 0..windows {
        let mut chance = Chance(window);
        let truth: Vec<i64> = (0..hosts).map(|_| chance.below(20_001) - 10_000).collect();
        let mut seen = Vec::with_capacity((hosts * links) as usize);
        for from in 0..hosts {
            for _ in 0..links {
                let to = (from + 1 + chance.below(hosts - 1) as u64) % hosts;
                let least = 4_000 + chance.below(6_000);
                // known to 97 %
                let known = least * 97 / 100;
                let mut direction = |ahead: i64| {
                    let shared = chance.exponential(10.0);
                    let queue = (0..10)
                        .map(|_| chance.exponential(120.0))
                        .min()
                        .unwrap_or(0);
                    let lie = match chance.below(2_000) < lying.cast_signed() {
                        true => (1_000 + chance.below(19_000)) * (1 - 2 * chance.below(2)),
                        false => 0,
                    };
                    least + shared + queue + ahead + lie
                };
                let ahead = truth[to as usize] - truth[from as usize];
                let (forward, backward) = (direction(ahead), direction(-ahead));
                single.push(((forward - backward) / 2 - ahead).abs());
                seen.push(Link {
                    from: from as u32,
                    to: to as u32,
                    forward: Some(forward),
                    backward: Some(backward),
                    least_forward: known,
                    least_backward: known,
                });
            }
        }
        let claims = vec![None; hosts as usize];
        let begun = processor_seconds();
        let assumptions = Assumptions {
            drift: 0,
            rate: 0,
            timestamp_error: 0,
        };
        let solution = solve(&seen, &claims, Reference::Host(0), assumptions).expect("sensible");
        took += processor_seconds() - begun;
        let offsets = solution.offsets.iter().enumerate();
        let mut off: Vec<_> = Vec::new();
        for (host, offset) in offsets {
            let ahead = truth[host] - truth[0];
            if let Ok(offset) = offset {
                compared += 1;
                outside += u64::from(!(offset.earliest..=offset.latest).contains(&ahead));
                widths.push((offset.latest - offset.earliest) / 2);
            }
            off.extend(solution.estimates[host].map(|estimate| estimate - ahead));
        }
        off.sort_unstable();
        let median = off[off.len() / 2];
        errors.extend(off.into_iter().map(|off| (off - median).abs()));
        for origin in (0..10).map(|_| chance.below(hosts) as usize) {
            for (host, bounds) in solution.against(origin as u32).into_iter().enumerate() {
                if let Some((earliest, latest)) = bounds {
                    compared += 1;
                    outside +=
                        u64::from(!(earliest..=latest).contains(&(truth[host] - truth[origin])));
                }
            }
        }
    }
    let (mesh, one) = (percentile(&mut errors, 99), percentile(&mut single, 99));
    println!("{hosts} hosts × {links} links, {lying} of 1,000 lying, {windows} windows");
    println!("truth outside of the bounds: {outside} of {compared}");
    println!(
        "error, 99 %: {mesh} ns; of a single link {one} ns; ratio {:.3}",
        mesh as f64 / one as f64
    );
    println!(
        "half width of the bounds, median: {} ns",
        percentile(&mut widths, 50)
    );
    println!(
        "processor time: {:.3} s a window; most memory: {}",
        took / windows as f64,
        memory()
    );
}

fn percentile(values: &mut [i64], percent: usize) -> i64 {
    values.sort_unstable();
    values[(values.len() * percent / 100).min(values.len() - 1)]
}

/// Of this thread, where the system says; otherwise time as it passes.
fn processor_seconds() -> f64 {
    thread_local!(static BEGUN: Instant = Instant::now());
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let passed = || BEGUN.with(|begun| begun.elapsed().as_secs_f64());
    let nanoseconds = text
        .split(' ')
        .next()
        .and_then(|text| text.parse::<f64>().ok());
    nanoseconds.map_or_else(passed, |nanoseconds| nanoseconds / 1e9)
}

fn memory() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    most.map_or("unknown".to_owned(), |most| most.trim().to_owned())
}
