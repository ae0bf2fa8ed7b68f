//! The thread that sets the events of sockets whose shadows have something to receive, as
//! `WSAEventSelect` would. Receives nothing.

use crate::shadow;
use std::ffi::c_void;
use std::ptr;
use std::sync::Once;
use std::thread;
use std::time::Duration;
use wirestamp_win32::simulated::{self, Simulation};
use wirestamp_win32::winsock::receive;

#[link(name = "kernel32")]
unsafe extern "system" {
    fn SetEvent(event: *mut c_void) -> i32;
}

/// Nothing is overlooked for longer: sockets come and go without a word.
const LONGEST_LOOK_AWAY: Duration = Duration::from_millis(2);

/// Starts the thread, once.
pub(crate) fn start() {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        let Ok(Some(simulation)) = simulated::chosen() else {
            return;
        };
        let spawned = thread::Builder::new()
            .name("wirestamp-forward".into())
            .spawn(move || run(simulation));
        drop(spawned);
    });
}

fn run(simulation: &Simulation) {
    loop {
        let seen = simulation.activity();
        for (shadow, event) in watched() {
            if receive::has_datagram(shadow) {
                set(event);
            }
        }
        simulation.look_away(seen, LONGEST_LOOK_AWAY);
    }
}

fn watched() -> Vec<(usize, usize)> {
    let known = shadow::all();
    known
        .values()
        .filter(|known| known.event != 0)
        .filter_map(|known| Some((known.shadow?, known.event)))
        .collect()
}

fn set(event: usize) {
    // SAFETY: an event that was closed meanwhile is no handle, which the system refuses.
    unsafe { SetEvent(ptr::with_exposed_provenance_mut(event)) };
}
