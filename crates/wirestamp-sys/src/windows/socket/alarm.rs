//! How a task, which must not wait on its thread, hears that a socket can be served. As
//! [`wait`](super::wait), but done by a thread of the system's.

use super::wait::WORTH_A_TIMER;
use super::{Socket, lock};
use crate::native::call::{self, Call, RegisteredWait};
use crate::native::clock;
use std::io;
use std::os::windows::io::{AsHandle, AsSocket, OwnedHandle};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use wirestamp_core::Result;

/// What will call. Dropping it ends that; it must not be dropped by what it calls.
#[derive(Debug)]
pub struct Alarm {
    /// Ended before the timer is closed.
    _waits: Vec<RegisteredWait>,
    _timer: Option<OwnedHandle>,
}

impl Socket {
    /// Has `call` called when a datagram may have come or the socket is closed; `None`: now. The
    /// socket must outlive the alarm.
    ///
    /// # Errors
    /// `Io` if the system refuses.
    pub fn when_readable(&self, call: &Call) -> Result<Option<Alarm>> {
        let failed = |error: io::Error| self.failure("wait for a datagram", &error);
        if self.has_datagram().map_err(failed)? || self.closed.load(Ordering::Acquire) {
            return Ok(None);
        }
        let waits = [&self.readable, &self.closing]
            .map(|event| RegisteredWait::new(event.as_handle(), Arc::clone(call)));
        let waits = waits
            .into_iter()
            .collect::<io::Result<_>>()
            .map_err(failed)?;
        Ok(Some(Alarm {
            _waits: waits,
            _timer: None,
        }))
    }

    /// Has `call` called when it is worth asking for timestamps, or somebody sends or closes; `None`:
    /// so soon that no timer is worth it. The socket must outlive the alarm.
    ///
    /// # Errors
    /// `Io` if the system refuses.
    pub fn when_timestamps_may_be_there(&self, call: &Call) -> Result<Option<Alarm>> {
        let failed = |error: io::Error| self.failure("wait for transmit timestamps", &error);
        // Said before looking: who sends after the look sees it and wakes us.
        self.tasks_wait.store(true, Ordering::SeqCst);
        self.departed.reset();
        let pause = lock(&self.timestamping).pause(clock::now());
        if pause.is_some_and(|pause| pause < WORTH_A_TIMER) || self.closed.load(Ordering::Acquire) {
            return Ok(None);
        }
        let timer = pause.map(|pause| {
            let timer = call::create_timer()?;
            call::set_timer(timer.as_handle(), pause.saturating_nanoseconds())?;
            Ok(timer)
        });
        let timer = timer.transpose().map_err(failed)?;
        let handles = [
            Some(self.departed.as_handle()),
            Some(self.closing.as_handle()),
            timer.as_ref().map(AsHandle::as_handle),
        ];
        let waits = handles
            .into_iter()
            .flatten()
            .map(|handle| RegisteredWait::new(handle, Arc::clone(call)));
        let waits = waits.collect::<io::Result<_>>().map_err(failed)?;
        Ok(Some(Alarm {
            _waits: waits,
            _timer: timer,
        }))
    }

    /// Whether something can be received. The event says so from then on.
    pub(super) fn has_datagram(&self) -> io::Result<bool> {
        self.readable.reset();
        let (receive, _) = call::readiness(self.as_socket())?;
        if receive {
            self.readable.set();
        }
        Ok(receive)
    }
}
