//! How cases are timed: in turn, so that a slow minute of the machine meets all of them.

use std::time::{Duration, Instant};

/// What a chunk of work did: how many operations, in how long.
pub(crate) type Chunk = Result<(u64, Duration), String>;

/// Something to time.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    run: Box<dyn FnMut() -> Chunk>,
}

impl Case {
    /// `run` does one chunk of work and times the part that counts.
    pub(crate) fn new(name: &'static str, run: impl FnMut() -> Chunk + 'static) -> Self {
        Self {
            name,
            run: Box::new(run),
        }
    }

    /// One chunk.
    pub(crate) fn chunk(&mut self) -> Chunk {
        (self.run)()
    }

    /// `work` does `operations` at each call; all of it counts.
    pub(crate) fn whole(
        name: &'static str,
        operations: u64,
        mut work: impl FnMut() + 'static,
    ) -> Self {
        Self::new(name, move || {
            let begun = Instant::now();
            work();
            Ok((operations, begun.elapsed()))
        })
    }
}

/// Nanoseconds an operation of each case, a row a pass.
pub(crate) fn measure(
    cases: &mut [Case],
    passes: usize,
    length: Duration,
) -> Result<Vec<Vec<f64>>, String> {
    (0..passes)
        .map(|pass| measure_pass(cases, pass, length))
        .collect()
}

/// Every case in many short turns; the median of its chunks.
fn measure_pass(cases: &mut [Case], pass: usize, length: Duration) -> Result<Vec<f64>, String> {
    const TURNS: u32 = 10;
    let mut chunks = vec![Vec::new(); cases.len()];
    for turn in 0..TURNS as usize {
        for place in 0..cases.len() {
            let which = (place + (turn + pass) * 7) % cases.len();
            let case = &mut cases[which];
            let mut run = || (case.run)().map_err(|error| format!("{}: {error}", case.name));
            run()?; // warms the caches up after the other cases
            let until = Instant::now() + length / TURNS;
            loop {
                let (operations, took) = run()?;
                chunks[which].push(took.as_nanos() as f64 / operations as f64);
                if Instant::now() >= until {
                    break;
                }
            }
        }
    }
    Ok(chunks.iter_mut().map(|chunks| median(chunks)).collect())
}

pub(crate) fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_the_chunks_counts() {
        let mut turn = 0;
        let odd = Case::new("odd", move || {
            turn += 1;
            Ok((
                10,
                Duration::from_nanos(if turn % 5 == 0 { 9_000 } else { 300 }),
            ))
        });
        let failing = Case::new("failing", || Err("no timestamp".to_owned()));
        let measured = measure(&mut [odd], 2, Duration::from_micros(50)).expect("it works");
        assert_eq!(measured, [[30.0], [30.0]]);
        assert_eq!(
            measure(&mut [failing], 1, Duration::ZERO),
            Err("failing: no timestamp".to_owned())
        );
    }
}
