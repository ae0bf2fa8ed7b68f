//! Control messages for datagrams that the program sends with its own system calls, and the result
//! of each send.

use super::Timestamper;
use std::io;
use wirestamp_core::timestamp::{Refused, TransmitId};
use wirestamp_core::{Error, ErrorKind, Result};

/// The control messages that make the system timestamp a datagram.
///
/// Pass it to [`Timestamper::sent`] or [`Timestamper::failed`] after the system call. If it is
/// dropped instead, its ID resolves as missing at its deadline. On kernels that count datagrams
/// (see [`Timestamper::tag`]) it is then unknown whether this datagram was counted, and those of
/// the next four seconds get no timestamp.
#[derive(Debug)]
#[must_use = "send the datagram with its control messages, then say what became of it"]
pub struct Tag {
    id: TransmitId,
    inner: wirestamp_sys::Tag,
}

impl Tag {
    /// Returns the control messages for `msg_control`, aligned as the kernel requires. Empty if the
    /// datagram gets no timestamp; its ID then resolves to `Missing(Reset)`.
    pub fn control(&self) -> &[u8] {
        self.inner.control()
    }

    /// Returns the datagram's ID.
    pub fn id(&self) -> TransmitId {
        self.id
    }
}

impl Timestamper {
    /// Returns the control messages with which the next datagram gets a transmit timestamp for
    /// `id`.
    ///
    /// Kernels before 6.13 do not carry IDs and count timestamped datagrams instead. There, send
    /// the datagrams in the order of their tags, and report the result of each before you request
    /// the next tag. A result that is reported later resolves to `Missing(Reset)`.
    ///
    /// # Errors
    /// `InvalidInput` for an ID that is still in use, or if transmit timestamps are not configured;
    /// `Busy` if too many IDs are unresolved (fetch outcomes first); `Io` if the error queue cannot
    /// be read.
    pub fn tag(&mut self, id: TransmitId) -> Result<Tag> {
        if self.matcher.awaited() >= self.part {
            self.read_error_queue()?; // before it overflows
        }
        let now = self.now();
        let mut begun = self.matcher.begin(id, now);
        if begun == Err(Refused::Full) {
            self.expired()?; // resolved IDs make room
            begun = self.matcher.begin(id, now);
        }
        begun.map_err(|refused| self.refusal(id, refused))?;
        let tag = self.socket.tag(id, &mut self.tracker);
        let inner = tag.inspect_err(|_| self.matcher.cancel(id))?;
        Ok(Tag { id, inner })
    }

    /// Notes that the datagram was sent with the tag's control messages. The deadline of its
    /// timestamp counts from here.
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

    /// Notes that the send of a payload of `length` bytes failed with `error`. The ID is free
    /// again.
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
