//! AF_XDP: frames handed to the driver, and what becomes of each one's transmit ID.

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

/// Sends frames out of memory that is shared with the driver, without a call for each.
///
/// [`Interface::send_xdp`] opens one. [`frame`](Self::frame) lends the memory of a frame to be filled in place, [`XdpFrame::queue`] queues it under a
/// [`TransmitId`], and [`flush`](Self::flush) hands over what is queued. Every ID resolves exactly once, to the NIC's timestamp or to the
/// reason there is none.
///
/// **A timestamp is the NIC's, or there is none.** [`way`](Self::way) says whether the NIC is asked: the driver must tell of it
/// ([`XdpFeatures::transmit_timestamp`](crate::xdp::XdpFeatures)), and take frames without a copy; hardware timestamping must be
/// [switched on](Interface::enable_hardware). Its clock is the NIC's, which a [`Correlator`](crate::Correlator) converts. In every other way an ID resolves
/// to `Missing(NotSupported)` when the kernel gives its frame back, because what the kernel notes then is when it was done with a buffer, not when the packet left.
/// [`tried`](Self::tried) says why the NIC is not asked. To have a timestamp there, send by [`Interface::open_ethernet`].
///
/// With zero copy a program that lets everything pass is attached to the interface, unless it has one, and many drivers restart the NIC at that, and
/// again when the sender is dropped: the link is down for seconds. Opening waits until it is up again, 10 s at most;
/// by default only where frames have the NIC's timestamp by it, and [`XdpSendOptions::zero_copy`] asks for it or avoids it. A queue has one AF_XDP socket: to receive by AF_XDP as well, open the [`XdpReceiver`](crate::xdp::XdpReceiver) first, on another
/// queue, and drop it last: the program at the interface is its.
///
/// Populated on: Linux 5.4 and later; transmit timestamps since 6.11.
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
    /// Queued, and not handed over.
    queued: Vec<TransmitId>,
    name: String,
}

/// A frame to be filled and [queued](Self::queue). Dropping it leaves it free.
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

    /// Returns in which way frames go: the best that this system accepts. `hardware`: whether the NIC is asked for its timestamps.
    pub fn way(&self) -> XdpWay {
        self.inner.way()
    }

    /// Returns the better ways, each with the reason why it did not work: where the NIC is not asked, they say why not.
    pub fn tried(&self) -> &[(XdpWay, Error)] {
        self.inner.tried()
    }

    /// Lends the next free frame. If none is, waits for one, handing over what is queued; `None` if none is free until then.
    pub fn frame(&mut self, wait: impl Into<Deadline>) -> Option<XdpFrame<'_>> {
        if !self.inner.has_room() {
            self.wait_for(wait.into(), |sender, _| {
                sender.inner.has_room().then_some(())
            })?;
        }
        Some(XdpFrame { sender: self })
    }

    /// Hands over what is queued, and wakes the kernel if it sleeps. A frame that the system does not take now, it takes at the next call or
    /// during a wait; none is lost by an error.
    ///
    /// # Errors
    /// `NoSuchDevice` if the interface is gone: every awaited ID then resolves to `Missing(Reset)`. `Unreachable` if it is switched off: the frames leave
    /// when it is on again, and IDs resolve by their deadlines. `Io`.
    pub fn flush(&mut self) -> Result<()> {
        let handed_over = self.inner.hand_over();
        let now = self.host.now();
        self.queued
            .drain(..)
            .for_each(|id| self.matcher.sent(id, now));
        let is_gone = |error: &Error| error.kind() == ErrorKind::NoSuchDevice;
        if handed_over.as_ref().is_err_and(is_gone) {
            self.collect(now); // what was completed before still counts
            self.matcher.reset(now);
        }
        handed_over
    }

    /// Asks for the outcome of `id`, without waiting.
    pub fn transmit_timestamp(&mut self, id: TransmitId) -> TransmitAnswer {
        let now = self.host.now();
        self.collect(now);
        self.matcher.fetch(id, now)
    }

    /// Waits for the outcome of `id`, until then at the latest; then it answers [`Pending`](TransmitAnswer::Pending). Hands over what is queued.
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

    /// Takes the outcomes of IDs that resolved, oldest first, as far as `records` has room; returns how many. Does not wait.
    pub fn transmit_timestamps(&mut self, records: &mut [TransmitRecord]) -> usize {
        let now = self.host.now();
        self.collect(now);
        self.matcher.fetch_batch(now, records)
    }

    /// Takes outcomes like [`transmit_timestamps`](Self::transmit_timestamps), and waits for the first. Hands over what is queued. 0: none resolved until
    /// then, or no ID is awaited.
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

    /// Takes timestamps that came after their ID had resolved without one; returns how many.
    pub fn late_timestamps(&mut self, late: &mut [LateTimestamp]) -> usize {
        self.collect(self.host.now());
        self.matcher.late(late)
    }

    /// Returns what became of the transmit IDs.
    pub fn counters(&mut self) -> TransmitCounters {
        self.collect(self.host.now());
        self.matcher.counters()
    }

    /// Returns what became of the frames.
    ///
    /// # Errors
    /// `Io` if the system can't tell.
    pub fn statistics(&mut self) -> Result<XdpSendStatistics> {
        self.collect(self.host.now());
        self.inner.statistics()
    }

    /// Takes back completed frames, and the outcomes of their ids.
    fn collect(&mut self, now: MonotonicTime) {
        self.matcher.advance(now);
        let matcher = &mut self.matcher;
        self.inner
            .take_completed(now, |arrival| matcher.arrived(arrival));
    }

    /// Collects until `question` has an answer, or `wait` is over. An interface that is gone or switched off ends no wait: its ids resolve.
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
                let _ = self.flush(); // shows in the outcomes
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
    /// Returns the memory of the frame, from its Ethernet header on, with room for a packet of the interface's MTU. It has what was
    /// in it before.
    pub fn data(&mut self) -> &mut [u8] {
        self.sender.inner.room()
    }

    /// Queues the first `length` bytes as a frame, whose outcome is known by `id`. It leaves with [`XdpSender::flush`]. Pad it to the 60
    /// bytes that Ethernet wants: without a copy nobody else may.
    ///
    /// # Errors
    /// `InvalidInput` for a frame that is shorter than an Ethernet header or longer than the MTU allows, and for an ID that is still in use;
    /// `Busy` if too many IDs are awaited. The frame then stays free.
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
