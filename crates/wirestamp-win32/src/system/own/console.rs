//! `SetConsoleCtrlHandler`: what a program does when it is interrupted (SIGINT) or ended (SIGTERM, SIGHUP).
//!
//! A signal is taken only once a handler is set, and never one that the program was started to ignore (`nohup`). Handlers run on a thread of the library's, the newest first, until one
//! returns `TRUE`; if none does, the signal does what it does without a handler.

use crate::abi::codes::{ERROR_INVALID_PARAMETER, ERROR_NOT_ENOUGH_MEMORY};
use crate::system::exports::told;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// `PHANDLER_ROUTINE`.
pub type Handler = unsafe extern "system" fn(event: u32) -> i32;

const CTRL_C_EVENT: u32 = 0;
const CTRL_CLOSE_EVENT: u32 = 2;
const CTRL_LOGOFF_EVENT: u32 = 5;

static STATE: Mutex<State> = Mutex::new(State {
    handlers: Vec::new(),
    ignores_interrupts: false,
    listens: false,
});

struct State {
    handlers: Vec<Handler>,
    /// A null handler was set.
    ignores_interrupts: bool,
    /// The thread runs.
    listens: bool,
}

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether the program was started so that it ignores this signal, as `nohup` starts it.
fn is_ignored(signal: i32) -> bool {
    let mut now = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: nothing is set, and the place outlives the call.
    let asked = unsafe { libc::sigaction(signal, std::ptr::null(), now.as_mut_ptr()) };
    // SAFETY: all zeros is a value, and the call has written another.
    asked == 0 && unsafe { now.assume_init() }.sa_sigaction == libc::SIG_IGN
}

impl State {
    fn listen(&mut self) -> Result<(), u32> {
        if self.listens {
            return Ok(());
        }
        let taken = [SIGINT, SIGTERM, SIGHUP].into_iter();
        let signals = Signals::new(taken.filter(|signal| !is_ignored(*signal)));
        let mut signals = signals.map_err(|_| ERROR_NOT_ENOUGH_MEMORY)?;
        let thread = std::thread::Builder::new().name(String::from("wirestamp-console"));
        let run = move || signals.forever().for_each(handle);
        thread.spawn(run).map_err(|_| ERROR_NOT_ENOUGH_MEMORY)?;
        self.listens = true;
        Ok(())
    }
}

fn handle(signal: i32) {
    let event = match signal {
        SIGINT => CTRL_C_EVENT,
        SIGTERM => CTRL_CLOSE_EVENT,
        _ => CTRL_LOGOFF_EVENT,
    };
    let handlers = {
        let state = state();
        if state.ignores_interrupts && event == CTRL_C_EVENT {
            return;
        }
        state.handlers.clone() // a handler may set or remove others
    };
    let is_handled = handlers.iter().rev().any(|handler| {
        // SAFETY: the program set it for this.
        unsafe { handler(event) != 0 }
    });
    if !is_handled {
        // Ends the program; it can't fail for these signals.
        let _ended = emulate_default_handler(signal);
    }
}

export! {
    /// Sets a handler of Ctrl-C and of the end of the program, or removes it. Null: Ctrl-C is ignored, or no longer.
    ///
    /// # Safety
    /// `handler` may be called on another thread until it is removed.
    fn SetConsoleCtrlHandler(handler: Option<Handler>, add: i32) -> i32 {
        let mut state = state();
        told(match (handler, add != 0) {
            (None, ignore) => {
                let listening = if ignore { state.listen() } else { Ok(()) };
                listening.map(|()| state.ignores_interrupts = ignore)
            }
            (Some(handler), true) => state.listen().map(|()| state.handlers.push(handler)),
            (Some(handler), false) => {
                let same = |known: &Handler| std::ptr::fn_addr_eq(*known, handler);
                let place = state.handlers.iter().rposition(same);
                let place = place.ok_or(ERROR_INVALID_PARAMETER);
                place.map(|place| {
                    state.handlers.remove(place);
                })
            }
        })
    }
}
