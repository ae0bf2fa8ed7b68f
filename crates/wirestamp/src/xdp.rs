//! AF_XDP: receiving timestamped packets directly from the driver, and sending frames through
//! shared memory.

mod send;

pub use send::{XdpFrame, XdpSender};

pub use wirestamp_core::xdp::{
    XdpFeatures, XdpFilter, XdpMode, XdpOptions, XdpSendOptions, XdpSendStatistics, XdpStatistics,
    XdpWay,
};

use crate::deadline::Deadline;
use crate::host::Host;
use crate::interface::Interface;
use std::fmt;
use std::sync::Arc;
use wirestamp_core::backend::Backend;
use wirestamp_core::timestamp::Timestamps;
use wirestamp_core::{Error, ErrorKind, Result};

/// A receiver of packets that an XDP program takes from the driver, before the kernel's network
/// stack.
///
/// [`Interface::receive_xdp`] opens one. An [`XdpBatch`] lends packets from memory shared with the
/// kernel until it is dropped. Unlike with a [`Capture`](crate::Capture), the host's sockets do not
/// get these packets. Packets that do not match [`XdpOptions::filter`] take the usual path.
///
/// Each packet has a software timestamp on the monotonic clock: when the XDP program processed it.
/// It also has the NIC's timestamp if the driver provides it ([`XdpFeatures::receive_timestamp`]);
/// [`way`](Self::way) returns whether it is requested. A [`Correlator`](crate::Correlator) converts
/// it.
///
/// Many drivers restart the NIC when an XDP program is attached, and again when the receiver is
/// dropped: the link is down for seconds, for the whole host. Opening waits up to 10 s until it is
/// up again. [`XdpOptions::driver`] can avoid this.
///
/// Requires CAP_BPF, CAP_NET_ADMIN and CAP_NET_RAW, and Linux 5.9 or later (6.6 for the NIC's
/// timestamps).
///
/// ```no_run
/// use std::time::Duration;
/// use wirestamp::ethernet::Ethertype;
/// use wirestamp::xdp::{XdpFilter, XdpOptions};
/// use wirestamp::Interface;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let ptp = XdpOptions::new(XdpFilter::Ethertype(Ethertype::PTP));
/// let mut receiver = Interface::find("eth0")?.receive_xdp(&ptp)?;
/// println!("{:?}; did not work: {:?}", receiver.way(), receiver.tried());
/// while let Some(batch) = receiver.next_batch(Duration::from_secs(10))? {
///     for packet in batch.packets() {
///         println!("{} bytes: {:?}", packet.data().len(), packet.timestamps());
///     }
/// }
/// println!("{:?}", receiver.statistics()?);
/// # Ok(())
/// # }
/// ```
pub struct XdpReceiver {
    host: Arc<Host>,
    inner: wirestamp_sys::Xdp,
}

/// A batch of packets lent from an [`XdpReceiver`]'s memory. Dropping it returns the memory to the
/// kernel.
pub struct XdpBatch<'a> {
    inner: wirestamp_sys::XdpBatch<'a>,
}

/// A received packet, borrowed from its [`XdpBatch`].
#[derive(Clone, Copy)]
pub struct XdpPacket<'a> {
    inner: wirestamp_sys::XdpPacket<'a>,
}

impl XdpReceiver {
    pub(crate) fn open(interface: &Interface, options: &XdpOptions) -> Result<Self> {
        refuse_simulated(interface)?;
        let inner = wirestamp_sys::Xdp::open(interface.description(), options)?;
        let host = Arc::clone(interface.host());
        Ok(Self { host, inner })
    }

    /// Returns the mode in use: the best that this system accepts.
    pub fn way(&self) -> XdpWay {
        self.inner.way()
    }

    /// Returns the better modes that the driver offers, each with the error that it failed with.
    pub fn tried(&self) -> &[(XdpWay, Error)] {
        self.inner.tried()
    }

    /// Waits for packets; returns `None` if none came before the deadline.
    ///
    /// # Errors
    /// `NoSuchDevice` if the interface is gone; `Io`. While the interface is set down, it waits.
    pub fn next_batch(&mut self, wait: impl Into<Deadline>) -> Result<Option<XdpBatch<'_>>> {
        let until = wait.into().resolve(|| self.host.now());
        let batch = self.inner.next_batch(until)?;
        Ok(batch.map(|inner| XdpBatch { inner }))
    }

    /// Returns the numbers of packets dropped since the receiver was opened.
    ///
    /// # Errors
    /// `Io` if the system cannot report them.
    pub fn statistics(&self) -> Result<XdpStatistics> {
        self.inner.statistics()
    }
}

/// Queries the driver's AF_XDP features.
pub(crate) fn features(interface: &Interface) -> Result<XdpFeatures> {
    refuse_simulated(interface)?;
    wirestamp_sys::xdp_features(interface.description())
}

fn refuse_simulated(interface: &Interface) -> Result<()> {
    if !interface.description().simulated {
        return Ok(());
    }
    let cause = "simulated NICs have no driver for AF_XDP";
    let error = Error::new(ErrorKind::NotSupported, "AF_XDP", interface.name(), cause);
    Err(error.with_remedy("open an Ethernet socket: Interface::open_ethernet"))
}

impl XdpBatch<'_> {
    /// Returns the packets in their order of arrival.
    pub fn packets(&self) -> impl Iterator<Item = XdpPacket<'_>> {
        self.inner.packets().map(|inner| XdpPacket { inner })
    }

    /// Returns the number of packets.
    pub fn count(&self) -> u32 {
        self.inner.count()
    }
}

impl<'a> XdpPacket<'a> {
    /// Returns the whole frame, without a VLAN tag that the NIC has removed.
    pub fn data(&self) -> &'a [u8] {
        self.inner.data()
    }

    /// Returns the receive timestamps: the XDP program's (`software`) and the NIC's (`hardware`).
    pub fn timestamps(&self) -> Timestamps {
        self.inner.timestamps()
    }
}

impl fmt::Debug for XdpReceiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("XdpReceiver")
            .field("way", &self.way())
            .field("tried", &self.tried())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for XdpBatch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("XdpBatch")
            .field("count", &self.count())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for XdpPacket<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("XdpPacket")
            .field("length", &self.data().len())
            .field("timestamps", &self.timestamps())
            .finish_non_exhaustive()
    }
}
