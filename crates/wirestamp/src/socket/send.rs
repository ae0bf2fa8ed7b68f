//! Sending: IDs are registered before the system call and cancelled if it fails. The error queue is
//! emptied before it can overflow.

use super::Socket;
use crate::address::ToAddress;
use crate::inner::Supported;
use std::slice;
use wirestamp_core::backend::{DatagramSocket, Interest, Outgoing};
use wirestamp_core::time::Span;
use wirestamp_core::timestamp::{Refused, TransmitId};
use wirestamp_core::{Error, ErrorKind, Result};

/// How long a single send waits for room in the send buffer.
const PATIENCE: Span = Span::from_seconds(1);

/// The part of a batch that can be sent at once.
struct Begun {
    /// Whether transmit timestamps are on or the socket is closed.
    enabled: bool,
    datagrams: usize,
    refused: Option<(TransmitId, Refused)>,
}

/// The result of passing datagrams to the system.
struct Attempt {
    /// The number of datagrams sent, and whether these are all.
    result: Result<(usize, bool)>,
    /// Whether the tracker has entries that the send read from the error queue: no wait reports
    /// them.
    has_read: bool,
}

impl<T: Supported> Socket<T> {
    /// Sends datagrams in order until one cannot be sent, and returns the number sent; 0 if there
    /// is no room now. The IDs of the others are free again.
    ///
    /// If transmit timestamps are not enabled, IDs are ignored, and fetching one returns
    /// [`NotEnabled`](crate::TransmitAnswer::NotEnabled).
    ///
    /// # Errors
    /// The error of the first datagram; that of a later one is returned by the next call.
    /// `InvalidInput` for an ID that is still in use, or a datagram that is too long; `Busy` if too
    /// many IDs are unresolved (fetch outcomes first); `Unreachable`; `NotPermitted`; `Closed`.
    pub fn send_batch(&self, batch: &[Outgoing<'_, T>]) -> Result<usize> {
        let mut sent = 0;
        while sent < batch.len() {
            match self.send_some(&batch[sent..]) {
                Ok((datagrams, all)) => {
                    sent += datagrams;
                    if !all {
                        break;
                    }
                }
                Err(_) if sent > 0 => break,
                Err(error) => return Err(error),
            }
        }
        Ok(sent)
    }

    /// Sends one datagram to the connected peer; with an `id`, it gets a transmit timestamp. Waits
    /// up to a second for room in the send buffer.
    ///
    /// # Errors
    /// As [`send_batch`](Self::send_batch); `Busy` also if the send buffer stayed full for a
    /// second.
    pub fn send(&self, payload: &[u8], id: Option<TransmitId>) -> Result<()> {
        self.send_one(&Outgoing::new(payload).id(id))
    }

    /// Sends one datagram to `to`; with an `id`, it gets a transmit timestamp. Waits up to a second
    /// for room in the send buffer.
    ///
    /// # Errors
    /// As [`send`](Self::send) and [`to_address`](ToAddress::to_address).
    pub fn send_to(
        &self,
        payload: &[u8],
        to: impl ToAddress<T>,
        id: Option<TransmitId>,
    ) -> Result<()> {
        let to = Some(to.to_address()?);
        self.send_one(&Outgoing::new(payload).to(to).id(id))
    }

    pub(super) fn send_one(&self, outgoing: &Outgoing<'_, T>) -> Result<()> {
        if self.send_batch(slice::from_ref(outgoing))? == 1 {
            return Ok(());
        }
        let until = self.now() + PATIENCE;
        loop {
            let readiness = self.socket.wait(Interest::Send, until)?;
            if readiness.closed {
                return Err(self.closed("send"));
            }
            if readiness.timestamps {
                self.collect()?;
            }
            if self.send_batch(slice::from_ref(outgoing))? == 1 {
                return Ok(());
            }
            if self.now() >= until {
                return Err(self.no_room());
            }
        }
    }

    pub(crate) fn no_room(&self) -> Error {
        Error::new(
            ErrorKind::Busy,
            "send",
            self.shown(),
            "the send buffer stayed full for a second",
        )
        .with_remedy("send slower, or see why the interface does not send")
    }

    /// Sends a part of the batch. Returns whether all of that part was sent.
    fn send_some(&self, batch: &[Outgoing<'_, T>]) -> Result<(usize, bool)> {
        match batch.iter().position(|outgoing| outgoing.id.is_some()) {
            Some(0) => self.send_with_ids(batch),
            plain => {
                self.send_plain(&batch[..plain.unwrap_or(batch.len())])
                    .result
            }
        }
    }

    fn send_plain(&self, part: &[Outgoing<'_, T>]) -> Attempt {
        let (sent, has_read) = if self.transmit.tracks_sends() {
            let mut turn = self.transmit.turn_to_collect();
            let sent = self.socket.send_counted(part, &mut turn.tracker);
            self.transmit.sent_with(&turn.tracker);
            (sent, turn.tracker.holds_any())
        } else {
            (self.socket.send(part), false)
        };
        Attempt {
            result: sent.map(|sent| (sent, sent == part.len())),
            has_read,
        }
    }

    /// Holds no lock during the system call, unless that needs the tracker, so that other threads
    /// can send, receive and fetch in the meantime.
    fn send_with_ids(&self, batch: &[Outgoing<'_, T>]) -> Result<(usize, bool)> {
        let mut begun = self.begin(batch);
        if let Begun {
            datagrams: 0,
            refused: Some((_, Refused::Full)),
            ..
        } = begun
        {
            let _ = self.collect(); // resolved IDs make room
            begun = self.begin(batch);
        }
        if !begun.enabled {
            return self.send_plain(batch).result; // the backend ignores IDs then
        }
        if let (0, Some((id, refused))) = (begun.datagrams, begun.refused) {
            return Err(self.refusal(id, refused));
        }
        let part = &batch[..begun.datagrams];
        let Attempt { result, has_read } = self.send_plain(part);
        let sent = result.as_ref().map_or(0, |(sent, _)| *sent);
        let is_half_full = self.settle(part.split_at(sent));
        if is_half_full || has_read {
            // the datagrams are sent even if this fails; calls that fetch timestamps report the
            // error
            let _ = self.collect();
        }
        result
    }

    /// Registers the IDs of as many datagrams as half the error queue has room for, at least one.
    /// How many that are can depend on their length; no `configure` comes in between, which locks
    /// `state` too.
    fn begin(&self, batch: &[Outgoing<'_, T>]) -> Begun {
        let now = self.now();
        let mut state = self.transmit.lock();
        if let Some(room) = self.socket.make_room(batch) {
            state.has_room_for(room);
        }
        let mut begun = Begun {
            enabled: state.enabled || state.closed,
            datagrams: 0,
            refused: None,
        };
        if !begun.enabled {
            return begun;
        }
        let mut ids = 0;
        let nothing_awaited = state.matcher.awaited() == 0;
        for outgoing in batch {
            if let Some(id) = outgoing.id {
                if ids == state.part {
                    break;
                }
                if let Err(refused) = state.matcher.begin_sending(id, now) {
                    begun.refused = Some((id, refused));
                    break;
                }
                ids += 1;
                self.shorten_wait(&mut state, id);
            }
            begun.datagrams += 1;
        }
        if nothing_awaited && ids > 0 && !state.wakers.is_empty() {
            self.announce(&mut state); // a waiting task does not know of this deadline yet
        }
        begun
    }

    /// Frees the IDs of unsent datagrams and starts the deadlines of the others. Returns whether
    /// the error queue should be emptied.
    fn settle(&self, (sent, unsent): (&[Outgoing<'_, T>], &[Outgoing<'_, T>])) -> bool {
        let now = self.now();
        let mut state = self.transmit.lock();
        for id in unsent.iter().filter_map(|outgoing| outgoing.id) {
            state.matcher.cancel(id);
        }
        for id in sent.iter().filter_map(|outgoing| outgoing.id) {
            state.matcher.sent(id, now);
        }
        state.matcher.awaited() >= state.part
    }

    fn refusal(&self, id: TransmitId, refused: Refused) -> Error {
        let error = |kind| {
            Error::new(
                kind,
                format!("send under id {id}"),
                self.shown(),
                refused.to_string(),
            )
        };
        match refused {
            Refused::Duplicate => error(ErrorKind::InvalidInput).with_remedy(
                "choose another id, or fetch the outcome of this one first; using each value once is best",
            ),
            Refused::Full => {
                error(ErrorKind::Busy).with_remedy("fetch or wait for outstanding timestamps before sending more")
            }
            Refused::Closed => error(ErrorKind::Closed),
            _ => error(ErrorKind::InvalidInput).with_remedy("configure transmit timestamps first"),
        }
    }
}
