//! The monitor's health, which can be read without a cost for its loop.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The time without a turn after which the loop hangs: it waits for a second at most.
const LONGEST: Duration = Duration::from_secs(3);

/// The health of a monitor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Health {
    /// The time since the loop's last turn.
    pub silence: Duration,
    /// The number of tasks in the configuration.
    pub tasks: usize,
    /// The number of running tasks.
    pub running: usize,
}

impl Health {
    /// Returns whether the loop turns. If not, restart the monitor.
    pub fn is_alive(&self) -> bool {
        self.silence < LONGEST
    }

    /// Returns whether the loop turns and at least one task runs.
    pub fn is_measuring(&self) -> bool {
        self.is_alive() && self.running > 0
    }
}

impl std::fmt::Display for Health {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if !self.is_alive() {
            let seconds = self.silence.as_secs();
            return write!(f, "the measuring loop has made no turn for {seconds} s");
        }
        match (self.tasks, self.running) {
            (0, _) => f.write_str("alive, and nothing is measured: there is no task"),
            (tasks, 0) => write!(
                f,
                "alive, and nothing is measured: none of {tasks} tasks runs"
            ),
            _ => f.write_str("measuring"),
        }
    }
}

/// What the loop leaves behind with each turn.
#[derive(Debug)]
pub(super) struct Pulse {
    begun: Instant,
    turns: AtomicU64,
    /// Milliseconds from `begun` to the last turn.
    turned: AtomicU64,
    tasks: AtomicUsize,
    running: AtomicUsize,
}

impl Pulse {
    pub(super) fn new() -> Self {
        Self {
            begun: Instant::now(),
            turns: AtomicU64::new(0),
            turned: AtomicU64::new(0),
            tasks: AtomicUsize::new(0),
            running: AtomicUsize::new(0),
        }
    }

    /// Notes a turn, and how many of the tasks run.
    pub(super) fn turn(&self, (running, tasks): (usize, usize)) {
        self.tasks.store(tasks, Ordering::Relaxed);
        self.running.store(running, Ordering::Relaxed);
        let since = self.begun.elapsed().as_millis() as u64;
        self.turned.store(since, Ordering::Relaxed);
        self.turns.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn turns(&self) -> u64 {
        self.turns.load(Ordering::Relaxed)
    }

    pub(super) fn health(&self) -> Health {
        let turned = Duration::from_millis(self.turned.load(Ordering::Relaxed));
        Health {
            silence: self.begun.elapsed().saturating_sub(turned),
            tasks: self.tasks.load(Ordering::Relaxed),
            running: self.running.load(Ordering::Relaxed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_that_hangs_is_not_alive_and_one_without_a_running_task_does_not_measure() {
        let health = |seconds, tasks, running| Health {
            silence: Duration::from_secs(seconds),
            tasks,
            running,
        };
        for (health, alive, measuring, said) in [
            (health(0, 2, 1), true, true, "measuring"),
            (health(0, 2, 0), true, false, "none of 2 tasks"),
            (health(0, 0, 0), true, false, "there is no task"),
            (health(3, 2, 2), false, false, "no turn for 3 s"),
        ] {
            assert_eq!(
                (health.is_alive(), health.is_measuring()),
                (alive, measuring)
            );
            assert!(health.to_string().contains(said), "{health}");
        }
    }

    #[test]
    fn a_turn_ends_the_silence() {
        let mut pulse = Pulse::new();
        pulse.begun -= Duration::from_secs(60);
        assert!(!pulse.health().is_alive());
        pulse.turn((1, 1));
        assert!(pulse.health().is_measuring());
        assert_eq!(pulse.turns(), 1);
    }
}
