//! Datagrams that the program sends itself: what to attach to them, and what became of the send.

use super::Timestamper;
use std::io;
use wirestamp_core::timestamp::{Refused, TransmitId};
use wirestamp_core::{Error, ErrorKind, Result};

/// The control messages with which a datagram is sent, so that the system timestamps it.
///
/// Given back to [`Timestamper::sent`] or [`Timestamper::failed`]. If it is dropped instead, its id ends
/// as missing when its time is over; on kernels that count ([`Timestamper::tag`]) nobody knows then whether its
/// datagram was counted, and those of the next four seconds get no timestamp.
#[derive(Debug)]
#[must_use = "send the datagram with its control messages, then say what became of it"]
pub struct Tag {
    id: TransmitId,
    inner: wirestamp_sys::Tag,
}

impl Tag {
    /// The control messages for `msg_control`, aligned as the kernel wants them. Empty where the datagram gets
    /// no timestamp; its id then ends as missing by reset.
    pub fn control(&self) -> &[u8] {
        self.inner.control()
    }

    /// The datagram's id.
    pub fn id(&self) -> TransmitId {
        self.id
    }
}

impl Timestamper {
    /// Returns the control messages with which the next datagram gets a timestamp under `id`.
    ///
    /// Kernels before 6.13 carry no ids and count timestamped datagrams instead: there, send the datagrams
    /// of tags one after another, in the order of the tags, and say of each what became of it before the next tag.
    /// What is said later ends as missing by reset.
    ///
    /// # Errors
    /// `InvalidInput` for an id that is still in use, or if transmit timestamps are not configured; `Busy`
    /// if too many ids are awaited; `Io` if the error queue can't be read.
    pub fn tag(&mut self, id: TransmitId) -> Result<Tag> {
        if self.matcher.awaited() >= self.part {
            self.read_error_queue()?; // before it overflows
        }
        let now = self.now();
        let mut begun = self.matcher.begin(id, now);
        if begun == Err(Refused::Full) {
            self.expired()?; // what has ended makes room
            begun = self.matcher.begin(id, now);
        }
        begun.map_err(|refused| self.refusal(id, refused))?;
        let tag = self.socket.tag(id, &mut self.tracker);
        let inner = tag.inspect_err(|_| self.matcher.cancel(id))?;
        Ok(Tag { id, inner })
    }

    /// The datagram was sent with the tag's control messages. The time in which its timestamp is
    /// expected counts from here.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "a tag that was given back can't be used again"
    )]
    pub fn sent(&mut self, tag: Tag) {
        let Tag { id, inner } = tag;
        self.socket.sent(id, &inner, &mut self.tracker);
        self.matcher.sent(id, self.now());
        self.deliver();
    }

    /// The send failed with `error`; `length` is the payload's. The id is free again.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "a tag that was given back can't be used again"
    )]
    pub fn failed(&mut self, tag: Tag, error: &io::Error, length: usize) {
        let Tag { id, inner } = tag;
        self.socket.failed(&inner, error, length, &mut self.tracker);
        self.matcher.cancel(id);
    }

    fn refusal(&self, id: TransmitId, refused: Refused) -> Error {
        let (kind, remedy) = match refused {
            Refused::Full => (
                ErrorKind::Busy,
                "fetch outcomes before you send more, or configure a larger capacity",
            ),
            Refused::Duplicate => (
                ErrorKind::InvalidInput,
                "choose another id, or fetch the outcome of this one first",
            ),
            _ => (
                ErrorKind::InvalidInput,
                "configure transmit timestamps first",
            ),
        };
        let shown = format!("{self:?}");
        Error::new(
            kind,
            format!("send under id {id}"),
            shown,
            refused.to_string(),
        )
        .with_remedy(remedy)
    }
}
