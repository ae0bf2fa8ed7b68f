//! AF_XDP transmission, with a transmit ID for each frame.

use super::refuse_simulated;
use crate::deadline::Deadline;
use crate::host::Host;
use crate::interface::Interface;
use std::fmt;
use std::sync::Arc;
use wirestamp_core::backend::Backend;
use wirestamp_core::configuration::{Source, Timestamping};
use wirestamp_core::time::MonotonicTime;
use wirestamp_core::timestamp::{
    LateTimestamp, Matcher, Refused, TransmitAnswer, TransmitCounters, TransmitId, TransmitRecord,
};
use wirestamp_core::xdp::{XdpSendOptions, XdpSendStatistics, XdpWay};
use wirestamp_core::{Error, ErrorKind, Result};

/// A sender of frames from memory shared with the driver, without a system call for each.
///
/// [`Interface::send_xdp`] opens one. [`frame`](Self::frame) lends the memory of a frame to fill in
/// place, [`XdpFrame::queue`] queues it under a [`TransmitId`], and [`flush`](Self::flush) passes
/// the queued frames to the kernel. Every ID resolves exactly once, to the NIC's timestamp or to
/// the reason there is none.
///
/// **There are hardware timestamps only.** They require a driver that supports them
/// ([`XdpFeatures::transmit_timestamp`](crate::xdp::XdpFeatures)), zero copy, and hardware
/// timestamping that is [switched on](Interface::enable_hardware). [`way`](Self::way) returns
/// whether the NIC is asked for them, [`tried`](Self::tried) why it is not. A
/// [`Correlator`](crate::Correlator) converts them. In all other modes an ID resolves to
/// `Missing(NotSupported)` when the kernel returns its frame: the kernel only knows when it was
/// done with the buffer, not when the packet left. To get a software timestamp, send through
/// [`Interface::open_ethernet`].
///
/// Zero copy attaches an XDP program that passes all packets to the interface, unless it has one.
/// Many drivers restart the NIC for this, and again when the sender is dropped: the link is down
/// for seconds. Opening waits up to 10 s until it is up again. By default zero copy is used only if
/// frames then get the NIC's timestamp; [`XdpSendOptions::zero_copy`] requests or avoids it. A
/// queue has one AF_XDP socket: to receive through AF_XDP as well, open the
/// [`XdpReceiver`](crate::xdp::XdpReceiver) first, on another queue, and drop it last, because the
/// interface's XDP program belongs to it.
///
/// Requires Linux 5.4 or later; transmit timestamps require 6.11.
///
/// ```no_run
/// use std::time::Duration;
/// use wirestamp::xdp::XdpSendOptions;
/// use wirestamp::{Interface, TransmitId, TransmitRecord};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut sender = Interface::find("eth0")?.send_xdp(&XdpSendOptions::new())?;
/// println!("{:?}; did not work: {:?}", sender.way(), sender.tried());
/// let packet = [[0xff; 12].as_slice(), &[0x88, 0xb5], &[0; 46]].concat();
/// if let Some(mut frame) = sender.frame(Duration::ZERO) {
///     frame.data()[..packet.len()].copy_from_slice(&packet);
///     frame.queue(packet.len(), TransmitId(1))?;
/// }
/// sender.flush()?;
/// let mut records = [TransmitRecord::EMPTY; 64];
/// let count = sender.wait_transmit_timestamps(&mut records, Duration::from_secs(1));
/// println!("{:?}", &records[..count]);
/// # Ok(())
/// # }
/// ```
pub struct XdpSender {
    host: Arc<Host>,
    inner: wirestamp_sys::XdpSend,
    matcher: Matcher,
    /// The IDs of queued frames that are not yet passed to the kernel.
    queued: Vec<TransmitId>,
    name: String,
}

/// A free frame to fill and [queue](Self::queue). Dropping it leaves the frame free.
pub struct XdpFrame<'a> {
    sender: &'a mut XdpSender,
}

impl XdpSender {
    pub(crate) fn open(interface: &Interface, options: &XdpSendOptions) -> Result<Self> {
        refuse_simulated(interface)?;
        let inner = wirestamp_sys::XdpSend::open(interface.description(), options)?;
        let host = Arc::clone(interface.host());
        let capacity = u16::try_from(options.frames).unwrap_or(u16::MAX);
        let mut timestamping = Timestamping::new()
            .transmit(capacity)
            .source(Source::Hardware);
        timestamping.transmit_deadline = options.deadline;
        let mut matcher = Matcher::new();
        matcher.configure(&timestamping, host.now());
        Ok(Self {
            host,
            inner,
            matcher,
            queued: Vec::with_capacity(options.frames as usize),
            name: interface.name().to_owned(),
        })
    }

    /// Returns the mode in use, the best that this system accepts. Its `hardware` is true if the
    /// NIC is asked for timestamps.
    pub fn way(&self) -> XdpWay {
        self.inner.way()
    }

    /// Returns the better modes, each with the error that it failed with. If the NIC is not asked
    /// for timestamps, they explain why.
    pub fn tried(&self) -> &[(XdpWay, Error)] {
        self.inner.tried()
    }

    /// Lends the next free frame. If there is none, flushes the queue and waits for one; returns
    /// `None` if none is free before the deadline.
    pub fn frame(&mut self, wait: impl Into<Deadline>) -> Option<XdpFrame<'_>> {
        if !self.inner.has_room() {
            self.wait_for(wait.into(), |sender, _| {
                sender.inner.has_room().then_some(())
            })?;
        }
        Some(XdpFrame { sender: self })
    }

    /// Passes the queued frames to the kernel, and wakes it if necessary. Frames that it does not
    /// accept now are passed again in the next call or during a wait; an error loses no frame.
    ///
    /// # Errors
    /// `NoSuchDevice` if the interface is gone: all unresolved IDs then resolve to
    /// `Missing(Reset)`. `Unreachable` if it is set down: the frames leave when it is up again, and
    /// IDs resolve by their deadlines. `Io`.
    pub fn flush(&mut self) -> Result<()> {
        let handed_over = self.inner.hand_over();
        let now = self.host.now();
        self.queued
            .drain(..)
            .for_each(|id| self.matcher.sent(id, now));
        let is_gone = |error: &Error| error.kind() == ErrorKind::NoSuchDevice;
        if handed_over.as_ref().is_err_and(is_gone) {
            self.collect(now); // frames completed before still count
            self.matcher.reset(now);
        }
        handed_over
    }

    /// Fetches the outcome of `id` without waiting.
    pub fn transmit_timestamp(&mut self, id: TransmitId) -> TransmitAnswer {
        let now = self.host.now();
        self.collect(now);
        self.matcher.fetch(id, now)
    }

    /// Flushes the queue and waits for the outcome of `id`. At the deadline it returns
    /// [`Pending`](TransmitAnswer::Pending).
    pub fn wait_transmit_timestamp(
        &mut self,
        id: TransmitId,
        wait: impl Into<Deadline>,
    ) -> TransmitAnswer {
        let answered = self.wait_for(wait.into(), |sender, now| {
            let answer = sender.matcher.fetch(id, now);
            (answer != TransmitAnswer::Pending).then_some(answer)
        });
        answered.unwrap_or(TransmitAnswer::Pending)
    }

    /// Takes the outcomes of resolved IDs, oldest first, as many as fit into `records`, without
    /// waiting. Returns their number.
    pub fn transmit_timestamps(&mut self, records: &mut [TransmitRecord]) -> usize {
        let now = self.host.now();
        self.collect(now);
        self.matcher.fetch_batch(now, records)
    }

    /// Flushes the queue, waits for the first outcome, and takes outcomes like
    /// [`transmit_timestamps`](Self::transmit_timestamps). Returns 0 if none resolved before the
    /// deadline, or no ID is unresolved.
    pub fn wait_transmit_timestamps(
        &mut self,
        records: &mut [TransmitRecord],
        wait: impl Into<Deadline>,
    ) -> usize {
        let fetched = self.wait_for(wait.into(), |sender, now| {
            let count = sender.matcher.fetch_batch(now, records);
            let is_over = count > 0 || records.is_empty() || sender.matcher.awaited() == 0;
            is_over.then_some(count)
        });
        fetched.unwrap_or(0)
    }

    /// Takes late timestamps: those that came after their ID had resolved without one. Returns
    /// their number.
    pub fn late_timestamps(&mut self, late: &mut [LateTimestamp]) -> usize {
        self.collect(self.host.now());
        self.matcher.late(late)
    }

    /// Returns the numbers of transmit IDs by outcome.
    pub fn counters(&mut self) -> TransmitCounters {
        self.collect(self.host.now());
        self.matcher.counters()
    }

    /// Returns the numbers of frames by outcome.
    ///
    /// # Errors
    /// `Io` if the system cannot report them.
    pub fn statistics(&mut self) -> Result<XdpSendStatistics> {
        self.collect(self.host.now());
        self.inner.statistics()
    }

    /// Takes back completed frames, and the outcomes of their IDs.
    fn collect(&mut self, now: MonotonicTime) {
        self.matcher.advance(now);
        let matcher = &mut self.matcher;
        self.inner
            .take_completed(now, |arrival| matcher.arrived(arrival));
    }

    /// Collects until `question` has an answer or `wait` is over. It reports no error if the
    /// interface is gone or set down, because the IDs resolve.
    fn wait_for<A>(
        &mut self,
        wait: Deadline,
        mut question: impl FnMut(&mut Self, MonotonicTime) -> Option<A>,
    ) -> Option<A> {
        let mut now = self.host.now();
        let until = wait.resolve(|| now);
        loop {
            self.collect(now);
            self.matcher.expire(now);
            if let Some(answer) = question(self, now) {
                return Some(answer);
            }
            if !self.queued.is_empty() {
                let _ = self.flush(); // errors show in the outcomes
            } else if now >= until {
                return None;
            } else {
                let next = self.matcher.next_deadline();
                let waited = self.inner.wait(next.map_or(until, |next| next.min(until)));
                if waited.is_err() {
                    self.matcher.reset(now);
                    return question(self, now);
                }
            }
            now = self.host.now();
        }
    }

    fn refusal(&self, id: TransmitId, refused: Refused) -> Error {
        let kind = match refused {
            Refused::Full => ErrorKind::Busy,
            _ => ErrorKind::InvalidInput,
        };
        let target = format!("{} (transmit id {id})", self.name);
        Error::new(kind, "send by AF_XDP", target, refused.to_string())
            .with_remedy("fetch the outcomes of ids before they are used again")
    }
}

impl XdpFrame<'_> {
    /// Returns the memory of the frame, beginning with the Ethernet header, with room for a packet
    /// of the interface's MTU. It contains the bytes of a previous frame.
    pub fn data(&mut self) -> &mut [u8] {
        self.sender.inner.room()
    }

    /// Queues the first `length` bytes as a frame with transmit ID `id`. It leaves with
    /// [`XdpSender::flush`]. Pad the frame to the 60 bytes that Ethernet requires: with zero copy
    /// nothing else does.
    ///
    /// # Errors
    /// `InvalidInput` for a frame that is shorter than an Ethernet header or longer than the MTU
    /// allows, or for an ID that is still in use; `Busy` if too many IDs are unresolved. The frame
    /// then stays free.
    pub fn queue(self, length: usize, id: TransmitId) -> Result<()> {
        let sender = self.sender;
        sender.inner.check(length)?;
        let now = sender.matcher.latest();
        sender
            .matcher
            .begin_sending(id, now)
            .map_err(|refused| sender.refusal(id, refused))?;
        sender.inner.queue(length, id);
        sender.queued.push(id);
        Ok(())
    }
}

impl fmt::Debug for XdpSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("XdpSender")
            .field("way", &self.way())
            .field("tried", &self.tried())
            .field("under_way", &self.inner.under_way())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for XdpFrame<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("XdpFrame").finish_non_exhaustive()
    }
}
