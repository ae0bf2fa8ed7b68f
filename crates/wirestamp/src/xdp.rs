//! AF_XDP: packets taken from the driver, each with the time at which it came, and frames handed to the driver.

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

/// Receives packets that a program in the driver takes before the kernel has made anything of them.
///
/// [`Interface::receive_xdp`] opens one. An [`XdpBatch`] lends packets out of memory shared with the kernel, until it is dropped. Unlike
/// those of a [`Capture`](crate::Capture), these packets are taken away from the host: its sockets don't see them. Packets that do not match
/// [`XdpOptions::filter`] go on as ever.
///
/// Each packet has a software timestamp: when the program in the driver saw it, on the monotonic clock. It has the NIC's, too, where the
/// driver tells it ([`XdpFeatures::receive_timestamp`]); [`way`](Self::way) says whether the NIC is asked. A [`Correlator`](crate::Correlator) converts it.
///
/// Many drivers restart the NIC when a program is attached, and again when the receiver is dropped: the link is down for seconds, for the
/// whole host. Opening waits until it is up again, 10 s at most. [`XdpOptions::driver`] leaves the driver alone.
///
/// Needs the privileges CAP_BPF, CAP_NET_ADMIN and CAP_NET_RAW. Populated on: Linux 5.9 and later; NICs' timestamps since 6.6.
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

/// Packets that came together, lent out of an [`XdpReceiver`]'s memory. Dropping it gives that back to the kernel.
pub struct XdpBatch<'a> {
    inner: wirestamp_sys::XdpBatch<'a>,
}

/// A packet, as long as its [`XdpBatch`] is there.
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

    /// Returns in which way packets come: the best that this system accepts.
    pub fn way(&self) -> XdpWay {
        self.inner.way()
    }

    /// Returns the better ways that the driver offers, each with the reason why it did not work.
    pub fn tried(&self) -> &[(XdpWay, Error)] {
        self.inner.tried()
    }

    /// Waits for packets; `None` if none came until then.
    ///
    /// # Errors
    /// `NoSuchDevice` if the interface is gone; `Io`. One that is switched off is waited for.
    pub fn next_batch(&mut self, wait: impl Into<Deadline>) -> Result<Option<XdpBatch<'_>>> {
        let until = wait.into().resolve(|| self.host.now());
        let batch = self.inner.next_batch(until)?;
        Ok(batch.map(|inner| XdpBatch { inner }))
    }

    /// Returns what was dropped since it was opened.
    ///
    /// # Errors
    /// `Io` if the system can't tell.
    pub fn statistics(&self) -> Result<XdpStatistics> {
        self.inner.statistics()
    }
}

/// What the driver says.
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
    /// Returns the packets, in the order in which they came.
    pub fn packets(&self) -> impl Iterator<Item = XdpPacket<'_>> {
        self.inner.packets().map(|inner| XdpPacket { inner })
    }

    /// Returns how many there are.
    pub fn count(&self) -> u32 {
        self.inner.count()
    }
}

impl<'a> XdpPacket<'a> {
    /// Returns the whole frame, without a VLAN tag that the NIC has removed.
    pub fn data(&self) -> &'a [u8] {
        self.inner.data()
    }

    /// Returns when it came: as the program in the driver saw it (`software`), and as the NIC says (`hardware`).
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
