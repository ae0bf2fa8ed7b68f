//! The choice between system calls and rings: the request, what the kernel grants, and the reason if
//! it grants less. `ring` has the rings themselves.

use super::ring::{ReceiveRing, TimestampIoUring};
use super::{Kind, Socket, lock};
use crate::environment::variable;
use std::sync::OnceLock;
use std::sync::atomic::Ordering;
use wirestamp_core::configuration::{
    Engine, Granted, IoUringState, IoUringUnavailable, Timestamping,
};

/// Names the engine of sockets that choose none: `ring`, or `ring:1472`.
const ENVIRONMENT: &str = "WIRESTAMP_ENGINE";

const UNNAMED: IoUringUnavailable = IoUringUnavailable::new(
    "packets of this socket can leave by several devices, which a ring does not name",
    None,
);

/// The longest payload of a ring; `None`: calls.
fn longest(engine: Engine) -> Option<u16> {
    static OF_ENVIRONMENT: OnceLock<Option<u16>> = OnceLock::new();
    match engine {
        Engine::Ring { longest } => Some(longest),
        Engine::Automatic => {
            *OF_ENVIRONMENT.get_or_init(|| in_words(variable(ENVIRONMENT)?.to_str()?))
        }
        _ => None,
    }
}

fn in_words(engine: &str) -> Option<u16> {
    match engine.split_once(':') {
        None if engine == "ring" => Some(u16::MAX),
        Some(("ring", longest)) => longest.parse().ok(),
        _ => None,
    }
}

impl<K: Kind> Socket<K> {
    /// Makes the rings that `in_force` asks for and ends the others.
    pub(super) fn set_rings(&self, in_force: Timestamping, system_queue: Option<u32>) -> Granted {
        let granted = Granted::new(in_force, system_queue);
        let longest = longest(in_force.engine);
        if let Some(why_not) = K::NO_RINGS.filter(|_| longest.is_some()) {
            let refused = IoUringState::Refused(why_not);
            return granted.with_rings(refused, refused);
        }
        let longest = longest.filter(|_| self.never_blocks());
        let mut ring = lock(&self.ring);
        *ring = None;
        let receive = self.set_receive_ring(longest.filter(|_| in_force.receive));
        let transmit = match longest.and(system_queue) {
            None => IoUringState::NotAsked,
            Some(_) if self.naming.is_by_kernel() => IoUringState::Refused(UNNAMED),
            Some(most) => state(TimestampIoUring::new(most), |made| *ring = Some(made)),
        };
        self.timestamp_ring.store(ring.is_some(), Ordering::Relaxed);
        drop(ring);
        granted.with_rings(receive, transmit)
    }

    /// Datagrams that an earlier ring took from the socket are handed out all the same.
    fn set_receive_ring(&self, longest: Option<u16>) -> IoUringState {
        let mut receiving = lock(&self.receiving);
        receiving.retire_ring();
        let state = match longest {
            None => IoUringState::NotAsked,
            Some(longest) => state(ReceiveRing::new(longest), |ring| {
                receiving.ring = Some(ring);
            }),
        };
        self.receive_ring
            .store(receiving.has_rings(), Ordering::Release);
        state
    }
}

fn state<T>(made: Result<T, IoUringUnavailable>, keep: impl FnOnce(T)) -> IoUringState {
    match made {
        Ok(ring) => {
            keep(ring);
            IoUringState::InForce
        }
        Err(refusal) => IoUringState::Refused(refusal),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_names_an_engine() {
        assert_eq!(
            ["ring", "ring:1472", "ring:", "ring:70000", "calls", ""].map(in_words),
            [Some(u16::MAX), Some(1_472), None, None, None, None]
        );
    }
}
