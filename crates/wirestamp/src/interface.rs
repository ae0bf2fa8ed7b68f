//! Network interfaces: what each one is, what it can timestamp, what it timestamps now, and when that changes.

pub use crate::hardware::{HardwareGuard, HardwareRequest};
pub use crate::observed::Observed;
pub use crate::watch::{ChangeEvent, Watch};
pub use wirestamp_core::backend::ChangeKind;
pub use wirestamp_core::capability::{
    Capabilities, Direction, HardwareCapabilities, KernelMasks, PtpVerdict, SoftwareCapabilities,
};
pub use wirestamp_core::configuration::{HardwareConfiguration, ReceiveFilter};
pub use wirestamp_core::interface::{
    InterfaceAddress, InterfaceAddressInvalid, InterfaceDescription, InterfaceIndex, InterfaceState,
};

use crate::capture::Capture;
use crate::clock::HardwareClock;
use crate::correlator::{Correlator, CorrelatorOptions};
use crate::ethernet::EthernetSocket;
use crate::find;
use crate::host::Host;
use crate::socket::UdpSocket;
#[cfg(all(target_os = "linux", not(wirestamp_unsupported)))]
use crate::xdp::{self, XdpReceiver, XdpSender};
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use wirestamp_core::backend::{Backend, BindOptions};
use wirestamp_core::capture::{CaptureOptions, Fanout};
use wirestamp_core::ethernet::Ethertype;
use wirestamp_core::time::UtcCrossTimestamp;
#[cfg(all(target_os = "linux", not(wirestamp_unsupported)))]
use wirestamp_core::xdp::{XdpFeatures, XdpOptions, XdpSendOptions};
use wirestamp_core::{Error, ErrorKind, Result};

/// A network interface, real or simulated.
///
/// Holds the description that the system gave when it was looked up; queries ask anew.
#[derive(Clone)]
pub struct Interface {
    host: Arc<Host>,
    description: InterfaceDescription,
}

impl Interface {
    /// Lists the interfaces of this system, loopback included; with feature `sim`, those of the
    /// default simulation (`sim0`) after them.
    ///
    /// A wrong `WIRESTAMP_SIM` only leaves the simulated ones out; [`find`](Self::find) reports it.
    ///
    /// # Errors
    /// `Io` if the system can't list its interfaces.
    pub fn list() -> Result<Vec<Self>> {
        find::list()
    }

    /// Finds an interface of this system, or of the default simulation, by name. Linux
    /// alternative names count; a real interface goes before a simulated one.
    ///
    /// # Errors
    /// `NoSuchDevice` if there is none of this name: the message offers the nearest names.
    /// `InvalidInput` if a simulated one is asked for and `WIRESTAMP_SIM` is wrong.
    pub fn find(name: &str) -> Result<Self> {
        find::by_name(name)
    }

    /// Finds an interface of this system, or of the default simulation, by the system's number.
    ///
    /// # Errors
    /// `NoSuchDevice` if there is none of this number.
    pub fn by_index(index: InterfaceIndex) -> Result<Self> {
        find::by_index(index)
    }

    /// Returns the loopback interface of this system, which has kernel timestamps everywhere.
    ///
    /// # Errors
    /// `NoSuchDevice` if there is none; `NotSupported` where wirestamp has no backend.
    pub fn loopback() -> Result<Self> {
        find::loopback()
    }

    pub(crate) fn new(host: &Arc<Host>, description: InterfaceDescription) -> Self {
        Self {
            host: Arc::clone(host),
            description,
        }
    }

    pub(crate) fn all_of(host: &Arc<Host>) -> Result<Vec<Self>> {
        Ok(host
            .interfaces()?
            .into_iter()
            .map(|description| Self::new(host, description))
            .collect())
    }

    #[cfg(feature = "sim")]
    pub(crate) fn named_of(host: &Arc<Host>, name: &str) -> Result<Self> {
        find::named(Self::all_of(host)?, name)
    }

    /// Returns the name that people use: `eth0`, `Ethernet 2`.
    pub fn name(&self) -> &str {
        &self.description.name
    }

    /// Returns the system's number for this interface.
    pub fn index(&self) -> InterfaceIndex {
        self.description.index
    }

    /// Returns everything that the system said of this interface when it was looked up: addresses, MTU,
    /// state, hardware clock.
    pub fn description(&self) -> &InterfaceDescription {
        &self.description
    }

    /// Looks the interface up again: by its number, or by its name if the number is gone (a driver that
    /// is bound again gives its interface a new number).
    ///
    /// # Errors
    /// `NoSuchDevice` if it is gone; the old description stays.
    pub fn refresh(&mut self) -> Result<()> {
        let found = find::again(&self.host, &self.description)?;
        self.description = found.ok_or_else(|| {
            Error::new(
                ErrorKind::NoSuchDevice,
                "refresh the interface",
                self.name(),
                "the interface is gone",
            )
            .with_remedy("list the interfaces again")
        })?;
        Ok(())
    }

    /// Returns in a sentence why packets that arrive here reach no UDP socket of this interface, and what to do: a bridge, bond or team whose port it is takes
    /// them. `None`: they reach it. By the [description](Self::description).
    pub fn diverted(&self) -> Option<String> {
        let upper = self.description.port_of?;
        let all = self.host.interfaces().unwrap_or_default();
        let found = all.into_iter().find(|one| one.index == upper);
        let (name, upper) = (self.name(), found?.name);
        Some(format!(
            "{name} is a port of {upper}, which takes what arrives: name {upper} instead"
        ))
    }

    /// Asks what this interface could timestamp.
    ///
    /// # Errors
    /// `NoSuchDevice` if it is gone; `NotSupported` if the system can't tell; else `Io`.
    pub fn supported(&self) -> Result<Capabilities> {
        self.host.supported(&self.description)
    }

    /// Asks what this interface timestamps now.
    ///
    /// # Errors
    /// As [`supported`](Self::supported).
    pub fn active(&self) -> Result<Capabilities> {
        self.host.active(&self.description)
    }

    /// Returns what a PTPv2 application would get now: hardware timestamps, software timestamps, or none. It
    /// hides the matrix that [`Capabilities`] shows: a NIC that timestamps IPv4 alone is
    /// not `Hardware` here.
    ///
    /// # Errors
    /// As [`active`](Self::active).
    pub fn ptp_verdict(&self) -> Result<PtpVerdict> {
        Ok(self.active()?.ptp_verdict())
    }

    /// Returns which timestamps this process has really seen on this interface.
    pub fn observed(&self) -> Observed {
        self.host.observed.on(self.index())
    }

    /// Asks how the hardware timestamping of this interface is switched.
    ///
    /// # Errors
    /// `NotSupported` if the NIC has none, or the driver can't tell.
    pub fn configuration(&self) -> Result<HardwareConfiguration> {
        self.host.configuration(&self.description)
    }

    /// Switches hardware timestamping of this interface on, for all programs, until the guard is dropped.
    ///
    /// # Errors
    /// `NotPermitted` without the privilege (Linux: `CAP_NET_ADMIN`); `NotSupported` or
    /// `InvalidInput` if the driver rejected every suitable setting: the message lists
    /// what was tried. The previous configuration is then in force again.
    pub fn enable_hardware(&self, request: HardwareRequest) -> Result<HardwareGuard> {
        HardwareGuard::enable(self, request)
    }

    /// Switches hardware timestamping of this interface off, for all programs.
    ///
    /// # Errors
    /// As [`enable_hardware`](Self::enable_hardware).
    pub fn disable_hardware(&self) -> Result<()> {
        self.host
            .configure(&self.description, HardwareConfiguration::OFF)
            .map(drop)
    }

    /// Opens the hardware clock of this interface for reading.
    ///
    /// # Errors
    /// `NotSupported` if it has none; `NotPermitted` if the clock may not be opened.
    pub fn hardware_clock(&self) -> Result<HardwareClock> {
        HardwareClock::open(self)
    }

    /// Starts to relate the hardware clock of this interface to the monotonic clock: takes cross timestamps in
    /// the background until the correlator is dropped.
    ///
    /// # Errors
    /// As [`hardware_clock`](Self::hardware_clock); `InvalidInput` for options that make no sense.
    pub fn correlator(&self, options: CorrelatorOptions) -> Result<Correlator> {
        Correlator::start(self, options)
    }

    /// Binds a UDP socket to `local` and to this interface alone.
    ///
    /// # Errors
    /// `Busy` if the address is taken; `NoSuchDevice` if the address is none of this
    /// system's or the interface is gone; `NotPermitted` for a port that needs privilege.
    pub fn bind(&self, local: SocketAddr) -> Result<UdpSocket> {
        self.bind_with(local, &BindOptions::new())
    }

    /// Binds a UDP socket as [`bind`](Self::bind) does, with options. Populated on: Linux.
    ///
    /// # Errors
    /// As [`bind`](Self::bind); `NotSupported` for options on Windows and in the simulator.
    pub fn bind_with(&self, local: SocketAddr, options: &BindOptions) -> Result<UdpSocket> {
        UdpSocket::on(&self.host, local, Some(&self.description), options)
    }

    /// Reads the real-time clock between two readings of the monotonic clock, of this system or of the simulated one.
    pub fn utc_cross_timestamp(&self) -> UtcCrossTimestamp {
        self.host.utc_cross_timestamp()
    }

    /// Opens a socket for the Ethernet frames of `ethertype` on this interface: PTP over Ethernet, for example.
    ///
    /// # Errors
    /// `NotPermitted` without CAP_NET_RAW; `NoSuchDevice` if the interface is gone; `NotSupported` if it has no
    /// Ethernet frames (a tunnel), and on Windows.
    ///
    /// ```
    /// # #[cfg(feature = "sim")]
    /// # fn main() -> wirestamp::Result<()> {
    /// use std::time::Duration;
    /// use wirestamp::ethernet::{Ethertype, MacAddress};
    /// use wirestamp::{Interface, Timestamping};
    ///
    /// let nic = Interface::find("sim0")?;
    /// let socket = nic.open_ethernet(Ethertype::PTP)?;
    /// socket.configure(Timestamping::new().transmit(64))?;
    /// let frame = [0; 44];
    /// let outcome = socket.send_to_timestamped(&frame, MacAddress::PTP_PRIMARY, Duration::from_secs(1))?;
    /// println!("{outcome:?}");
    /// # Ok(())
    /// # }
    /// # #[cfg(not(feature = "sim"))]
    /// # fn main() {}
    /// ```
    pub fn open_ethernet(&self, ethertype: Ethertype) -> Result<EthernetSocket> {
        EthernetSocket::open(&self.host, &self.description, ethertype)
    }

    /// Captures the packets that this interface receives and sends, whoever they are for.
    ///
    /// # Errors
    /// `NotPermitted` without CAP_NET_RAW; `InvalidInput` for a filter that libpcap does not understand, or buffers that make no
    /// sense; `NotSupported` for a filter where libpcap is not installed or the interface is simulated, for interfaces whose packets
    /// begin with neither Ethernet nor IP headers, and for real ones on other systems than Linux; `NoSuchDevice`; `Busy` if the
    /// buffer's memory is refused; with hardware timestamps also as [`correlator`](Self::correlator).
    pub fn capture(&self, options: &CaptureOptions) -> Result<Capture> {
        Capture::open(self, options)
    }

    /// Opens `count` captures that share the packets of this interface, one for each of as many threads.
    ///
    /// # Errors
    /// As [`capture`](Self::capture); `InvalidInput` for a count of 0, or above 256.
    pub fn capture_queues(
        &self,
        options: &CaptureOptions,
        count: usize,
        fanout: Fanout,
    ) -> Result<Vec<Capture>> {
        Capture::open_several(self, options, count, fanout)
    }

    /// Takes packets from the driver, before the kernel has made anything of them: see [`XdpReceiver`]. The best way that the system accepts is
    /// taken; [`XdpReceiver::way`] says which, [`XdpReceiver::tried`] why not a better one. Many drivers restart the NIC for it: the link is down
    /// for seconds.
    ///
    /// # Errors
    /// `NotPermitted` without CAP_BPF, CAP_NET_ADMIN and CAP_NET_RAW; `NotSupported` if no way works, or on a simulated interface; `Busy` if the
    /// interface has an XDP program already; `InvalidInput` for options that make no sense; `NoSuchDevice`.
    #[cfg(all(target_os = "linux", not(wirestamp_unsupported)))]
    pub fn receive_xdp(&self, options: &XdpOptions) -> Result<XdpReceiver> {
        XdpReceiver::open(self, options)
    }

    /// Sends frames out of memory shared with the driver, each with a transmit ID, in the best way that works: see [`XdpSender`].
    /// For zero copy many drivers restart the NIC, and the link is down for seconds. It is tried where frames have the NIC's timestamp by it, unless
    /// [`XdpSendOptions::zero_copy`] says otherwise.
    ///
    /// Needs CAP_NET_RAW; for zero copy CAP_BPF and CAP_NET_ADMIN, too.
    ///
    /// # Errors
    /// `NotPermitted`; `NotSupported` if no way works, or for a simulated interface; `InvalidInput` for options that make no sense, or a
    /// queue that the interface does not have; `Busy` if the queue has an AF_XDP socket already: an [`XdpReceiver`], say, which then needs another queue;
    /// `NoSuchDevice`.
    #[cfg(all(target_os = "linux", not(wirestamp_unsupported)))]
    pub fn send_xdp(&self, options: &XdpSendOptions) -> Result<XdpSender> {
        XdpSender::open(self, options)
    }

    /// Asks what the driver can do with AF_XDP: [`receive_xdp`](Self::receive_xdp) and [`send_xdp`](Self::send_xdp), with which timestamps.
    ///
    /// # Errors
    /// `NotSupported` on kernels before 6.3, or for a simulated interface; `NoSuchDevice`.
    #[cfg(all(target_os = "linux", not(wirestamp_unsupported)))]
    pub fn xdp_features(&self) -> Result<XdpFeatures> {
        xdp::features(self)
    }

    /// Calls `callback` on every change that may concern this interface: see [`Watch`].
    ///
    /// # Errors
    /// As [`Watch::register`].
    pub fn watch(&self, callback: impl FnMut(&ChangeEvent) + Send + 'static) -> Result<Watch> {
        Watch::on_interface(self, callback)
    }

    pub(crate) fn host(&self) -> &Arc<Host> {
        &self.host
    }
}

impl fmt::Debug for Interface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Interface").field(&self.description).finish()
    }
}
