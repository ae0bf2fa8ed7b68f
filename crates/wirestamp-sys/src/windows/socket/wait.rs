//! Waiting, to a deadline. Windows signals datagrams but not transmit timestamps: for those,
//! waiting is pausing until it is worth asking again.

use super::{Socket, lock};
use crate::native::handle;
use crate::native::{call, clock};
use std::hint;
use std::io;
use std::os::windows::io::AsSocket;
use std::sync::atomic::Ordering;
use wirestamp_core::backend::{Interest, Readiness};
use wirestamp_core::time::{MonotonicTime, Span};

/// A pause shorter than this is spent spinning: a timer would take longer.
pub(super) const WORTH_A_TIMER: Span = Span::from_microseconds(50);
/// Room to send comes back fast, and Windows says so only once: it is asked for.
const UNTIL_ROOM: Span = Span::from_milliseconds(1);

const CLOSED: Readiness = Readiness {
    receive: false,
    timestamps: false,
    send: false,
    woken: false,
    closed: true,
};

impl Socket {
    pub(super) fn wait_for(
        &self,
        interest: Interest,
        until: MonotonicTime,
    ) -> io::Result<Readiness> {
        match interest {
            Interest::Receive => self.wait_to_receive(until),
            Interest::Timestamps => self.wait_for_timestamps(until),
            Interest::Send => self.wait_to_send(until),
            Interest::Close => {
                let ended = handle::wait(&[&self.closing], until)?;
                Ok(ended.map_or_else(Readiness::default, |_| CLOSED))
            }
        }
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// The event is set when something arrives, and stays set. It is reset only by who found
    /// nothing to read *after* resetting it, and set again otherwise: so no thread takes
    /// another's signal.
    fn wait_to_receive(&self, until: MonotonicTime) -> io::Result<Readiness> {
        loop {
            let receive = self.has_datagram()?;
            let closed = self.is_closed();
            if receive || closed {
                return Ok(Readiness {
                    receive,
                    closed,
                    ..Readiness::default()
                });
            }
            match handle::wait(&[&self.closing, &self.readable], until)? {
                None => return Ok(Readiness::default()),
                Some(0) => return Ok(CLOSED),
                Some(_) => {}
            }
        }
    }

    fn wait_to_send(&self, until: MonotonicTime) -> io::Result<Readiness> {
        loop {
            let closed = self.is_closed();
            let (_, send) = call::readiness(self.as_socket())?;
            if send || closed || clock::now() >= until {
                return Ok(Readiness {
                    send,
                    closed,
                    ..Readiness::default()
                });
            }
            let pause = (clock::now() + UNTIL_ROOM).min(until);
            handle::wait(&[&self.closing], pause)?;
        }
    }

    /// Pauses for an eighth of the time since the last timestamped datagram left: spinning first, by
    /// the timer later. With none under way, until somebody sends or wakes.
    fn wait_for_timestamps(&self, until: MonotonicTime) -> io::Result<Readiness> {
        let started = clock::now();
        // Said before looking: who sends after the look sees it and wakes us.
        self.parked.store(true, Ordering::SeqCst);
        let pause = lock(&self.timestamping).pause(started);
        let ask_at = pause.map_or(until, |pause| (started + pause).min(until));
        let ended = if ask_at - started < WORTH_A_TIMER {
            self.parked.store(false, Ordering::SeqCst);
            self.spin(ask_at)
        } else {
            let ended = handle::wait(&[&self.closing, &self.nudge], ask_at);
            self.parked.store(false, Ordering::SeqCst);
            ended?
        };
        Ok(match ended {
            Some(0) => CLOSED,
            Some(_) => {
                self.nudge.reset();
                Readiness {
                    woken: true,
                    ..Readiness::default()
                }
            }
            None => Readiness {
                timestamps: ask_at < until,
                ..Readiness::default()
            },
        })
    }

    /// As [`handle::wait`], but busy; a nudge that comes meanwhile ends the next wait.
    fn spin(&self, until: MonotonicTime) -> Option<usize> {
        while clock::now() < until {
            if self.is_closed() {
                return Some(0);
            }
            hint::spin_loop();
        }
        None
    }
}
