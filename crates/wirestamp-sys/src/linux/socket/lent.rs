//! For programs that make the calls themselves: what to attach to a datagram that they send, and what
//! the control messages mean that they received.

use super::messages::SEND_CONTROL;
use super::place::ask;
use super::receive::Envelope;
use super::send::{Mark, failure};
use super::{Kind, Socket, lock};
use crate::cmsg::ControlBuffer;
use crate::native::clock;
use crate::native::wire::{address, control};
use std::io;
use std::sync::atomic::Ordering;
use wirestamp_core::Result;
use wirestamp_core::backend::Received;
use wirestamp_core::timestamp::{Clocks, TransmitId, TransmitTracker, Turn};

/// Has the system timestamp one datagram, if its control messages are sent with it.
#[derive(Debug, Clone, Copy)]
pub struct Tag {
    control: ControlBuffer<SEND_CONTROL>,
    timestamped: bool,
    /// Where the kernel counts.
    turn: Option<Turn>,
}

impl Tag {
    /// The control messages, aligned as the kernel wants them. Empty if the datagram gets no timestamp.
    pub fn control(&self) -> &[u8] {
        self.control.written()
    }
}

impl Socket {
    /// Has room made for timestamps of datagrams of any length, from the next configuration on: for callers that send by
    /// themselves.
    pub fn assume_long_datagrams(&self) {
        self.naming.room.assume_long_datagrams();
    }

    /// What to attach to the datagram of `id`, which is sent next. While the kernel's count is not
    /// known, or a former owner's timestamps can come, it is nothing, and the datagram gets no timestamp.
    ///
    /// # Errors
    /// `Closed`; `Io` if the error queue can't be read, or the kernel's count not restarted.
    pub fn tag(&self, id: TransmitId, tracker: &mut TransmitTracker) -> Result<Tag> {
        self.check_open("send")?;
        if tracker.is_quarantined() {
            self.end_quarantine(tracker)?;
        }
        tracker.end_forgotten_turn(clock::now());
        let bits = self.transmit_bits.load(Ordering::Acquire);
        let carried = !tracker.is_needed_to_send();
        let timestamped = bits != 0 && (carried || self.in_step(tracker)?);
        let mark = match (timestamped, carried) {
            (false, _) => Mark::Plain,
            (true, true) => Mark::Carried { bits, id },
            (true, false) => Mark::Counted { bits },
        };
        let mut control = ControlBuffer::new();
        mark.write(&mut control);
        Ok(Tag {
            control,
            timestamped,
            turn: matches!(mark, Mark::Counted { .. }).then(|| tracker.begin_turn()),
        })
    }

    /// The datagram of `id` was sent with `tag`.
    pub fn sent(&self, id: TransmitId, tag: &Tag, tracker: &mut TransmitTracker) {
        let now = clock::now();
        let is_counted = tag.turn.is_none_or(|turn| tracker.end_turn(turn, now));
        tracker.sent(id, tag.timestamped && is_counted, now);
    }

    /// The send with `tag` failed with `error`; `length`: that of the payload.
    pub fn failed(
        &self,
        tag: &Tag,
        error: &io::Error,
        length: usize,
        tracker: &mut TransmitTracker,
    ) {
        let now = clock::now();
        let is_counted = tag.turn.is_none_or(|turn| tracker.end_turn(turn, now));
        if tag.timestamped && is_counted {
            tracker.failed(failure(error, length, self.kind.longest()));
        }
    }

    /// What the control messages of a received datagram say. Its length and source are not among it.
    pub fn received(&self, control: &[u8]) -> Received {
        let mut receiving = lock(&self.receiving);
        let placement = &mut receiving.placement;
        let clocks = self.clocks(placement);
        let envelope = Envelope {
            name: &[],
            before: &[],
            control,
            length: 0,
            truncated: false,
            control_truncated: false,
        };
        let mut received = Received::EMPTY;
        self.open_envelope(&envelope, placement, clocks, &mut received);
        if let Some(Clocks::Read(read_at)) = clocks {
            let in_doubt = received.timestamps.software.is_none();
            self.settle(placement, read_at, in_doubt, false);
        }
        received
    }

    /// Takes in an entry of the error queue, which the caller has read with at least 256 bytes for control messages. Ignores
    /// other messages; an entry that was cut off is lost.
    pub fn take_entry(&self, control: &[u8], name: &[u8], tracker: &mut TransmitTracker) {
        let clocks = ask(tracker.placement());
        if let Some(entry) = control::queue_entry(control, || address::read(name)) {
            self.take_in(entry, tracker, clocks);
        }
    }
}
