//! Sending a datagram and getting its transmit timestamps in one call.

use super::Socket;
use crate::address::ToAddress;
use crate::deadline::Deadline;
use crate::inner::Supported;
use std::sync::atomic::Ordering;
use wirestamp_core::backend::Outgoing;
use wirestamp_core::timestamp::{MissingReason, TransmitAnswer, TransmitId, TransmitOutcome};
use wirestamp_core::{Error, ErrorKind, Result};

/// The library chooses its IDs from here on.
pub(super) const FIRST_OWN: u32 = 1 << 31;
/// How many IDs to try, if the caller uses such IDs as well.
const ATTEMPTS: usize = 1 << 16;

impl<T: Supported> Socket<T> {
    /// Sends one datagram to the connected peer and waits for its transmit timestamps, at most
    /// until `deadline`. It combines [`send`](Self::send) and
    /// [`wait_transmit_timestamp`](Self::wait_transmit_timestamp), with an ID that the socket
    /// chooses.
    ///
    /// If there is no timestamp, the outcome has the reason. At `deadline` the ID resolves as if
    /// its own deadline had passed ([`MissingReason::Deadline`], or
    /// [`NeverGenerated`](MissingReason::NeverGenerated) if this socket never got a timestamp). A
    /// timestamp after that is a [late timestamp](Self::late_timestamps).
    ///
    /// The chosen IDs are 2³¹ and above; use smaller ones for your own. Other threads can call this
    /// at the same time, but should not fetch outcomes of all IDs
    /// ([`transmit_timestamps`](Self::transmit_timestamps)), because they could take this one.
    ///
    /// # Errors
    /// `InvalidInput` if transmit timestamps are not enabled (the datagram is not sent). Otherwise
    /// as [`send`](Self::send); `Io` if the error queue cannot be read.
    ///
    /// ```
    /// # #[cfg(feature = "sim")]
    /// # fn main() -> wirestamp::Result<()> {
    /// use std::time::Duration;
    /// use wirestamp::{Interface, Timestamping, TransmitOutcome};
    ///
    /// let nic = Interface::find("sim0")?;
    /// let address = nic.description().addresses[0].address;
    /// let socket = nic.bind((address, 0).into())?;
    /// socket.configure(Timestamping::new().transmit(64))?;
    /// socket.connect((address, 9))?;
    /// match socket.send_timestamped(b"hello", Duration::from_secs(1))? {
    ///     TransmitOutcome::Timestamped(timestamps) => println!("left: {timestamps:?}"),
    ///     TransmitOutcome::Missing(reason) => println!("no timestamp: {reason}"),
    /// }
    /// # Ok(())
    /// # }
    /// # #[cfg(not(feature = "sim"))]
    /// # fn main() {}
    /// ```
    pub fn send_timestamped(
        &self,
        payload: &[u8],
        deadline: impl Into<Deadline>,
    ) -> Result<TransmitOutcome> {
        self.send_and_wait(payload, None, deadline.into())
    }

    /// Sends one datagram to `to` and waits for its transmit timestamps, like
    /// [`send_timestamped`](Self::send_timestamped).
    ///
    /// # Errors
    /// As [`send_timestamped`](Self::send_timestamped) and [`to_address`](ToAddress::to_address).
    pub fn send_to_timestamped(
        &self,
        payload: &[u8],
        to: impl ToAddress<T>,
        deadline: impl Into<Deadline>,
    ) -> Result<TransmitOutcome> {
        self.send_and_wait(payload, Some(to.to_address()?), deadline.into())
    }

    fn send_and_wait(
        &self,
        payload: &[u8],
        to: Option<T::Address>,
        deadline: Deadline,
    ) -> Result<TransmitOutcome> {
        let own = self.own_id()?;
        let id = Some(own.id);
        self.send_one(&Outgoing::new(payload).to(to).id(id))?;
        match self.wait_transmit_timestamp(own.id, deadline)? {
            TransmitAnswer::Pending => own.give_up(),
            answer => self.outcome_in(answer),
        }
    }

    /// Reserves an unused ID.
    pub(crate) fn own_id(&self) -> Result<OwnId<'_, T>> {
        let state = self.transmit.lock();
        if !state.enabled && !state.closed {
            return Err(self.not_enabled());
        }
        let next = || FIRST_OWN | self.next_own.fetch_add(1, Ordering::Relaxed);
        let mut candidates = std::iter::repeat_with(|| TransmitId(next())).take(ATTEMPTS);
        let free = candidates.find(|id| state.matcher.is_free(*id));
        drop(state);
        free.map(|id| OwnId { socket: self, id })
            .ok_or_else(|| self.no_room())
    }

    pub(crate) fn outcome_in(&self, answer: TransmitAnswer) -> Result<TransmitOutcome> {
        match answer {
            TransmitAnswer::Resolved(outcome) => Ok(outcome),
            // the socket was configured again in the meantime
            TransmitAnswer::NotEnabled => Ok(TransmitOutcome::Missing(MissingReason::Reset)),
            _ => {
                let cause = "another thread fetched the outcome of this datagram";
                let remedy = "fetch outcomes by id beside send_timestamped, not those of all ids";
                Err(self.contradiction(cause, remedy))
            }
        }
    }

    fn not_enabled(&self) -> Error {
        let cause = "transmit timestamps are not enabled";
        self.contradiction(cause, "configure(Timestamping::new().transmit(64)) before")
    }

    fn contradiction(&self, cause: &'static str, remedy: &'static str) -> Error {
        let operation = "send with a timestamp";
        Error::new(ErrorKind::InvalidInput, operation, self.shown(), cause).with_remedy(remedy)
    }
}

/// An ID that the library chose. Dropping it resolves it, because nobody else would fetch its
/// outcome.
pub(crate) struct OwnId<'a, T: Supported> {
    socket: &'a Socket<T>,
    pub(crate) id: TransmitId,
}

impl<T: Supported> OwnId<'_, T> {
    /// Resolves it now, as its deadline would.
    pub(crate) fn give_up(&self) -> Result<TransmitOutcome> {
        let now = self.socket.now();
        let answer = self.socket.transmit.lock().matcher.give_up(self.id, now);
        self.socket.outcome_in(answer)
    }
}

impl<T: Supported> Drop for OwnId<'_, T> {
    fn drop(&mut self) {
        let mut state = self.socket.transmit.lock();
        if !state.matcher.is_free(self.id) {
            let now = self.socket.now();
            state.matcher.give_up(self.id, now);
        }
    }
}
