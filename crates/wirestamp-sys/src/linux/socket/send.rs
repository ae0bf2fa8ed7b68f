//! Sending: datagrams with the caller's ids, in batches; and the kernel's own count of them where it
//! can't carry the ids.

use super::messages::{CHUNK, SEND_CONTROL, SendMessages, send_plain};
use super::{Kind, Socket, source};
use crate::cmsg::ControlBuffer;
use crate::native::clock;
use crate::native::wire::constants::SCM_TS_OPT_ID;
use std::io;
use std::os::fd::AsFd;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU32, Ordering};
use wirestamp_core::backend::Outgoing;
use wirestamp_core::timestamp::{CounterState, SendFailure, TransmitId, TransmitTracker};
use wirestamp_core::{Error, Result};

/// Type of the control message that asks for a timestamp of one datagram. The old number: both
/// are taken, and its payload is four bytes on every system.
const ASK_FOR_TIMESTAMP: i32 = libc::SO_TIMESTAMPING;

/// After so many datagrams in a row that differ from how the socket is set, it is set so that
/// they need no control message for it.
const WORTH_A_SWITCH: u32 = 32;

/// How a datagram is marked for timestamping.
#[derive(Debug, Clone, Copy)]
pub(super) enum Mark {
    /// Not at all: as the socket is set.
    Plain,
    /// The kernel counts it; or, without bits, it is not to be timestamped although all are.
    Counted { bits: u32 },
    /// It carries the caller's id; without bits, it is timestamped because all are.
    Carried { bits: u32, id: TransmitId },
}

impl Mark {
    /// The control messages that say so.
    pub(super) fn write(self, control: &mut ControlBuffer<SEND_CONTROL>) {
        let mut push = |kind, word: u32| control.push(libc::SOL_SOCKET, kind, &word.to_ne_bytes());
        let fits = match self {
            Self::Plain => true,
            Self::Counted { bits } => push(ASK_FOR_TIMESTAMP, bits),
            Self::Carried { bits, id } => {
                (bits == 0 || push(ASK_FOR_TIMESTAMP, bits)) && push(SCM_TS_OPT_ID, id.0)
            }
        };
        debug_assert!(fits, "the control buffer holds both messages");
    }
}

/// How the socket is set. Locked during a send, for reading where ids are carried: no datagram leaves
/// under another setting than it was marked for.
#[derive(Debug, Default)]
pub(super) struct Sending {
    /// Whether every datagram is timestamped that does not say otherwise.
    pub(super) timestamps_all: bool,
    /// How many datagrams in a row said otherwise.
    others_in_a_row: AtomicU32,
}

impl<K: Kind> Socket<K> {
    pub(super) fn send_batch(
        &self,
        batch: &[Outgoing<'_, K::Transport>],
        tracker: Option<&mut TransmitTracker>,
    ) -> Result<usize> {
        for outgoing in batch {
            if let Some(to) = outgoing.to {
                self.kind.check(to)?;
            }
            if let Some(source) = outgoing.source {
                self.kind.check_source(self.as_fd(), source, outgoing.to)?;
            }
        }
        self.room_for(batch);
        let bits = self.transmit_bits.load(Ordering::Acquire);
        if bits != 0 && !self.carried.load(Ordering::Acquire) {
            return self.send_counted(batch, bits, tracker);
        }
        if bits == 0 {
            return self.send_marked(batch, |_| Mark::Plain);
        }
        let sending = self.sending.read().unwrap_or_else(PoisonError::into_inner);
        let all = sending.timestamps_all;
        let sent = self.send_marked(batch, |outgoing| match outgoing.id {
            Some(id) => Mark::Carried {
                bits: if all { 0 } else { bits },
                id,
            },
            None if all => Mark::Counted { bits: 0 },
            None => Mark::Plain,
        });
        if batch.iter().any(|outgoing| outgoing.id.is_some() == all) {
            sending.others_in_a_row.store(0, Ordering::Relaxed);
            return sent;
        }
        let others = sending
            .others_in_a_row
            .fetch_add(batch.len() as u32, Ordering::Relaxed);
        drop(sending);
        if others >= WORTH_A_SWITCH {
            self.switch_sending(!all, bits);
        }
        sent
    }

    /// Two control messages are more than the kernel has room for without allocating it.
    fn switch_sending(&self, all: bool, bits: u32) {
        let mut sending = self.sending.write().unwrap_or_else(PoisonError::into_inner);
        let as_before = self.transmit_bits.load(Ordering::Acquire) == bits
            && self.carried.load(Ordering::Acquire);
        if as_before
            && sending.timestamps_all != all
            && self.timestamp_all(if all { bits } else { 0 }).is_ok()
        {
            sending.timestamps_all = all;
        }
        *sending.others_in_a_row.get_mut() = 0;
    }

    fn send_marked(
        &self,
        batch: &[Outgoing<'_, K::Transport>],
        mark: impl Fn(&Outgoing<'_, K::Transport>) -> Mark,
    ) -> Result<usize> {
        if let [one] = batch {
            return self.send_one(one, mark(one));
        }
        self.send_many(batch, mark)
    }

    /// Not inlined: the room for many headers takes its time even where it is not used.
    #[inline(never)]
    fn send_many(
        &self,
        batch: &[Outgoing<'_, K::Transport>],
        mark: impl Fn(&Outgoing<'_, K::Transport>) -> Mark,
    ) -> Result<usize> {
        let mut total = 0;
        for chunk in batch.chunks(CHUNK) {
            let sent =
                match self.send_chunk(&mut SendMessages::<CHUNK, K::Header>::new(), chunk, &mark) {
                    // What went before counts; the error is met again at the next call.
                    Err(_) if total > 0 => return Ok(total),
                    other => other?,
                };
            total += sent;
            if sent < chunk.len() {
                break;
            }
        }
        Ok(total)
    }

    fn send_chunk<'a, const N: usize>(
        &self,
        messages: &mut SendMessages<'a, N, K::Header>,
        chunk: &[Outgoing<'a, K::Transport>],
        mark: impl Fn(&Outgoing<'_, K::Transport>) -> Mark,
    ) -> Result<usize> {
        self.fill(messages, chunk, mark);
        self.attempt(&chunk[0], || messages.send(self.as_fd()))
    }

    fn fill<'a, const N: usize>(
        &self,
        messages: &mut SendMessages<'a, N, K::Header>,
        chunk: &[Outgoing<'a, K::Transport>],
        mark: impl Fn(&Outgoing<'_, K::Transport>) -> Mark,
    ) {
        let source = self.source.get();
        for outgoing in chunk {
            let envelope = self.kind.envelope(outgoing.to);
            let control = messages.push(outgoing.payload, envelope);
            mark(outgoing).write(control);
            let own = outgoing.source.map(|own| self.kind.source(own));
            if let Some(source) = own.and_then(Result::ok).or(source) {
                source::write(source, control);
            }
        }
    }

    /// Whether a payload is sent with nothing but its destination.
    fn is_bare(&self, outgoing: &Outgoing<'_, K::Transport>, mark: Mark) -> bool {
        size_of::<K::Header>() == 0
            && matches!(mark, Mark::Plain)
            && outgoing.source.is_none()
            && !self.source.is_set()
    }

    /// Without message headers where neither a control message nor a header of the packet is needed.
    fn send_one(&self, outgoing: &Outgoing<'_, K::Transport>, mark: Mark) -> Result<usize> {
        if !self.is_bare(outgoing, mark) {
            return self.send_chunk(
                &mut SendMessages::<1, K::Header>::new(),
                std::slice::from_ref(outgoing),
                |_| mark,
            );
        }
        self.attempt(outgoing, || self.send_plainly(outgoing))
    }

    fn send_plainly(&self, outgoing: &Outgoing<'_, K::Transport>) -> io::Result<usize> {
        let (to, _) = self.kind.envelope(outgoing.to);
        send_plain(self.as_fd(), outgoing.payload, &to).map(|()| 1)
    }

    /// One call, whatever comes of it.
    fn send_once(&self, outgoing: &Outgoing<'_, K::Transport>, mark: Mark) -> io::Result<usize> {
        if self.is_bare(outgoing, mark) {
            return self.send_plainly(outgoing);
        }
        let mut messages = SendMessages::<1, K::Header>::new();
        self.fill(&mut messages, std::slice::from_ref(outgoing), |_| mark);
        messages.send(self.as_fd())
    }

    fn attempt(
        &self,
        first: &Outgoing<'_, K::Transport>,
        mut send: impl FnMut() -> io::Result<usize>,
    ) -> Result<usize> {
        let mut sent = send();
        for _ in 0..MOST_PENDING {
            match &sent {
                // The error of an *earlier* datagram, whose details are in the error queue.
                Err(error)
                    if self.icmp_errors.load(Ordering::Relaxed) && is_pending_error(error) =>
                {
                    sent = send();
                }
                _ => break,
            }
        }
        match sent {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
            other => other.map_err(|error| self.send_error(first, &error)),
        }
    }

    fn send_error(&self, outgoing: &Outgoing<'_, K::Transport>, error: &io::Error) -> Error {
        let bytes = outgoing.payload.len();
        let operation = match outgoing.to {
            Some(to) => format!("send {bytes} bytes to {to}"),
            None => format!("send {bytes} bytes"),
        };
        K::send_error(operation, &self.name, error)
    }

    /// One by one, because the count after a batch that ended early is not known; under the
    /// lock, because the count is only known to who sends next.
    fn send_counted(
        &self,
        batch: &[Outgoing<'_, K::Transport>],
        bits: u32,
        mut tracker: Option<&mut TransmitTracker>,
    ) -> Result<usize> {
        if let Some(tracker) = tracker.as_deref_mut() {
            self.end_quarantine(tracker)?;
            if !tracker.is_needed_to_send() {
                self.carried.store(true, Ordering::Release);
                return self.send_batch(batch, None);
            }
        }
        let mut sending = self.sending.write().unwrap_or_else(PoisonError::into_inner);
        for (sent, outgoing) in batch.iter().enumerate() {
            match self.send_one_counted(&mut sending, outgoing, bits, tracker.as_deref_mut()) {
                Ok(true) => {}
                Err(error) if sent == 0 => return Err(error),
                _ => return Ok(sent),
            }
        }
        Ok(batch.len())
    }

    /// Returns `false` if there is no room. Each attempt may move the count, so each is reported to
    /// the map, also one that fails for an earlier datagram's error.
    fn send_one_counted(
        &self,
        sending: &mut Sending,
        outgoing: &Outgoing<'_, K::Transport>,
        bits: u32,
        tracker: Option<&mut TransmitTracker>,
    ) -> Result<bool> {
        let mut asked = outgoing.id.zip(tracker);
        let mut attempts = 0;
        loop {
            let timestamped = match &mut asked {
                Some((_, tracker)) => self.in_step(tracker)?,
                None => false,
            };
            let mark = self.counted_mark(sending, timestamped, bits);
            let Err(error) = self.send_once(outgoing, mark) else {
                if let Some((id, tracker)) = asked {
                    tracker.sent(id, timestamped, clock::now());
                }
                return Ok(true);
            };
            if let Some((_, tracker)) = asked.as_mut().filter(|_| timestamped) {
                tracker.failed(failure(&error, outgoing.payload.len(), self.kind.longest()));
            }
            attempts += 1;
            if error.kind() == io::ErrorKind::WouldBlock {
                return Ok(false);
            }
            let again = self.icmp_errors.load(Ordering::Relaxed) && is_pending_error(&error);
            if !again || attempts > MOST_PENDING {
                return Err(self.send_error(outgoing, &error));
            }
        }
    }

    /// A control message costs as much as a third of the send: the socket is set for what most
    /// datagrams are, and the others say that they are not.
    fn counted_mark(&self, sending: &mut Sending, timestamped: bool, bits: u32) -> Mark {
        let others = sending.others_in_a_row.get_mut();
        if timestamped == sending.timestamps_all {
            *others = 0;
            return Mark::Plain;
        }
        *others += 1;
        if *others >= WORTH_A_SWITCH
            && self
                .timestamp_all(if timestamped { bits } else { 0 })
                .is_ok()
        {
            (sending.timestamps_all, *others) = (timestamped, 0);
            return Mark::Plain;
        }
        Mark::Counted {
            bits: if timestamped { bits } else { 0 },
        }
    }

    /// Whether the kernel's count is known; if not, tries to start it anew.
    pub(super) fn in_step(&self, tracker: &mut TransmitTracker) -> Result<bool> {
        if tracker.is_quarantined() {
            return Ok(false);
        }
        if tracker.count_state() != Some(CounterState::Unsure) {
            return Ok(tracker.count_state().is_some());
        }
        self.read_ahead(tracker)?;
        let now = clock::now();
        if !tracker.may_restart(now) {
            return Ok(false);
        }
        self.restart_count()
            .map_err(|error| self.failure("restart the count of timestamped sends", &error))?;
        Ok(tracker.restart(now))
    }
}

/// Each attempt can meet the error of another datagram that came meanwhile. An error that is met this
/// often is this datagram's own: there is no route.
const MOST_PENDING: usize = 16;

/// Errors that a socket with `IP_RECVERR` reports at the next call.
fn is_pending_error(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(
            libc::ECONNREFUSED
                | libc::EHOSTUNREACH
                | libc::ENETUNREACH
                | libc::EPROTO
                | libc::EHOSTDOWN
                | libc::ENOPROTOOPT
        )
    )
}

/// Why a send failed. A datagram that no packet can hold is refused before there is one, a shorter
/// one perhaps afterwards. A refusal is `Other`: it can be that of an
/// earlier datagram, met before there is a packet, or that of a security module, met afterwards.
pub(super) fn failure(error: &io::Error, payload: usize, longest: usize) -> SendFailure {
    match error.raw_os_error() {
        Some(libc::EAGAIN) => SendFailure::NoRoom,
        Some(libc::EMSGSIZE) if payload > longest => SendFailure::TooLong,
        Some(libc::EDESTADDRREQ) => SendFailure::NoDestination,
        _ => SendFailure::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, SocketAddr};
    use wirestamp_core::ErrorKind;
    use wirestamp_core::backend::DatagramSocket;
    use wirestamp_core::configuration::Timestamping;

    #[test]
    fn errors_of_earlier_datagrams_fail_no_send_however_many_there_are() {
        let socket =
            Socket::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), None).expect("a socket");
        let outgoing = Outgoing::new(b"x");
        let refused = |code: i32| io::Error::from_raw_os_error(code);
        for (notices, pending, sends) in [
            (true, 0, true),
            (true, 1, true),
            (true, 5, true),
            (false, 1, false),
        ] {
            let timestamping = if notices {
                Timestamping::OFF.icmp_errors()
            } else {
                Timestamping::OFF
            };
            socket
                .configure(&timestamping, &mut socket.tracker())
                .expect("configured");
            let mut left = pending;
            let sent = socket.attempt(&outgoing, || {
                left -= 1;
                if left >= 0 {
                    Err(refused(libc::ECONNREFUSED))
                } else {
                    Ok(1)
                }
            });
            assert_eq!(
                sent.is_ok(),
                sends,
                "{pending} before, notices {notices}: {sent:?}"
            );
        }
        socket
            .configure(&Timestamping::OFF.icmp_errors(), &mut socket.tracker())
            .expect("configured");
        let error = socket
            .attempt(&outgoing, || Err(refused(libc::ENETUNREACH)))
            .expect_err("there is no route");
        assert_eq!(error.kind(), ErrorKind::Unreachable);
    }
}
