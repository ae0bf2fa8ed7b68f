//! Network interfaces: their description, what they can timestamp, what they timestamp now, and
//! notifications of changes.

pub use crate::hardware::{HardwareGuard, HardwareRequest};
pub use crate::observed::Observed;
pub use crate::watch::{ChangeEvent, Watch};
pub use wirestamp_core::backend::ChangeKind;
pub use wirestamp_core::capability::{
    Capabilities, Direction, HardwareCapabilities, KernelMasks, PtpVerdict, SoftwareCapabilities,
};
pub use wirestamp_core::configuration::{HardwareConfiguration, ReceiveFilter};
pub use wirestamp_core::interface::{
    InterfaceAddress, InterfaceAddressInvalid, InterfaceDescription, InterfaceIndex,
    InterfaceState, NeighbourState, NeighbourWatch,
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
use std::net::{IpAddr, SocketAddr};
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
/// It holds the description from when it was looked up. Queries of capabilities and configuration
/// ask the system each time.
#[derive(Clone)]
pub struct Interface {
    host: Arc<Host>,
    description: InterfaceDescription,
}

impl Interface {
    /// Lists the interfaces of this system, including loopback; with feature `sim`, followed by
    /// those of the default simulation (`sim0`).
    ///
    /// An invalid `WIRESTAMP_SIM` is not an error here: the simulated interfaces are left out.
    /// [`find`](Self::find) reports it.
    ///
    /// # Errors
    /// `Io` if the system cannot list its interfaces.
    pub fn list() -> Result<Vec<Self>> {
        find::list()
    }

    /// Finds an interface of this system, or of the default simulation, by name. Linux's
    /// alternative names are recognised; a real interface takes precedence over a simulated one.
    ///
    /// # Errors
    /// `NoSuchDevice` if there is no interface of this name; the message suggests similar names.
    /// `InvalidInput` if the name begins with `sim` and `WIRESTAMP_SIM` is invalid.
    pub fn find(name: &str) -> Result<Self> {
        find::by_name(name)
    }

    /// Finds an interface of this system, or of the default simulation, by its index (`ifindex`).
    ///
    /// # Errors
    /// `NoSuchDevice` if there is no interface with this index.
    pub fn by_index(index: InterfaceIndex) -> Result<Self> {
        find::by_index(index)
    }

    /// Returns the loopback interface of this system, which has kernel timestamps on every system.
    ///
    /// # Errors
    /// `NoSuchDevice` if there is none; `NotSupported` on systems without a backend.
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

    /// Returns the interface's name: `eth0`, `Ethernet 2`.
    pub fn name(&self) -> &str {
        &self.description.name
    }

    /// Returns the interface's index (`ifindex`).
    pub fn index(&self) -> InterfaceIndex {
        self.description.index
    }

    /// Returns the description from when the interface was looked up: addresses, MTU, state,
    /// hardware clock.
    pub fn description(&self) -> &InterfaceDescription {
        &self.description
    }

    /// Looks the interface up again: by its index, or by its name if the index is gone (an
    /// interface gets a new index when its driver is bound again).
    ///
    /// # Errors
    /// `NoSuchDevice` if it is gone. The old description is then kept.
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

    /// Returns a sentence that explains why packets that arrive here do not reach UDP sockets on
    /// this interface, and what to do: it is a port of a bridge, bond or team, which takes them.
    /// `None` if they do reach it. Evaluates the [description](Self::description).
    pub fn diverted(&self) -> Option<String> {
        let upper = self.description.port_of?;
        let all = self.host.interfaces().unwrap_or_default();
        let found = all.into_iter().find(|one| one.index == upper);
        let (name, upper) = (self.name(), found?.name);
        Some(format!(
            "{name} is a port of {upper}, which takes what arrives: name {upper} instead"
        ))
    }

    /// Returns the state of the neighbour that packets to `address` go to: the host itself, or the
    /// router towards it. `None` if the system has not looked for it. Explains lost packets: to a
    /// socket that is bound to an interface, Linux does not report a neighbour that does not answer.
    ///
    /// # Errors
    /// `NoSuchDevice` if the interface is gone; `NotSupported` except on Linux 5.0 and later, and
    /// for an address family that the kernel does not have; `Unreachable` if no route leads to an
    /// IPv6 address (Linux takes an IPv4 address without a route to be on the link); otherwise
    /// `Io`.
    pub fn neighbour(&self, address: IpAddr) -> Result<Option<NeighbourState>> {
        self.host.neighbour(&self.description, address)
    }

    /// Returns what this interface can timestamp.
    ///
    /// # Errors
    /// `NoSuchDevice` if it is gone; `NotSupported` if the system does not report it; otherwise
    /// `Io`.
    pub fn supported(&self) -> Result<Capabilities> {
        self.host.supported(&self.description)
    }

    /// Returns what this interface timestamps now.
    ///
    /// # Errors
    /// As [`supported`](Self::supported).
    pub fn active(&self) -> Result<Capabilities> {
        self.host.active(&self.description)
    }

    /// Returns which timestamps a PTPv2 application would get now: hardware, software or none. It
    /// summarises the details in [`Capabilities`]: a NIC that timestamps IPv4 only is not
    /// `Hardware` here.
    ///
    /// # Errors
    /// As [`active`](Self::active).
    pub fn ptp_verdict(&self) -> Result<PtpVerdict> {
        Ok(self.active()?.ptp_verdict())
    }

    /// Returns which kinds of timestamps this process has received on this interface so far.
    pub fn observed(&self) -> Observed {
        self.host.observed.on(self.index())
    }

    /// Returns the current hardware timestamping configuration of this interface.
    ///
    /// # Errors
    /// `NotSupported` if the NIC has no hardware timestamping, or the driver does not report it.
    pub fn configuration(&self) -> Result<HardwareConfiguration> {
        self.host.configuration(&self.description)
    }

    /// Switches hardware timestamping of this interface on, for all programs, until the guard is dropped.
    ///
    /// # Errors
    /// `NotPermitted` without the privilege (Linux: `CAP_NET_ADMIN`); `NotSupported` or
    /// `InvalidInput` if the driver rejected every suitable configuration. The message lists them,
    /// and the previous configuration is restored.
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
    /// `NotSupported` if it has none; `NotPermitted` if this process may not open it.
    pub fn hardware_clock(&self) -> Result<HardwareClock> {
        HardwareClock::open(self)
    }

    /// Starts a correlator, which converts this interface's hardware timestamps to the monotonic
    /// clock. It takes cross timestamps in the background until it is dropped.
    ///
    /// # Errors
    /// As [`hardware_clock`](Self::hardware_clock); `InvalidInput` for invalid options.
    pub fn correlator(&self, options: CorrelatorOptions) -> Result<Correlator> {
        Correlator::start(self, options)
    }

    /// Binds a UDP socket to `local` and to this interface alone.
    ///
    /// # Errors
    /// `Busy` if the address is in use; `NoSuchDevice` if this system does not have the address, or
    /// the interface is gone; `NotPermitted` for a privileged port.
    pub fn bind(&self, local: SocketAddr) -> Result<UdpSocket> {
        self.bind_with(local, &BindOptions::new())
    }

    /// Binds a UDP socket as [`bind`](Self::bind) does, with options. Options require Linux.
    ///
    /// # Errors
    /// As [`bind`](Self::bind); `NotSupported` for options on Windows and in the simulator.
    pub fn bind_with(&self, local: SocketAddr, options: &BindOptions) -> Result<UdpSocket> {
        UdpSocket::on(&self.host, local, Some(&self.description), options)
    }

    /// Reads the real-time clock between two readings of the monotonic clock, on this system or the
    /// simulated one.
    pub fn utc_cross_timestamp(&self) -> UtcCrossTimestamp {
        self.host.utc_cross_timestamp()
    }

    /// Opens a socket for Ethernet frames of `ethertype` on this interface, for example for PTP
    /// over Ethernet.
    ///
    /// # Errors
    /// `NotPermitted` without CAP_NET_RAW; `NoSuchDevice` if the interface is gone; `NotSupported`
    /// if its packets have no Ethernet header (a tunnel), and on Windows.
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

    /// Captures all packets that this interface receives and sends, whatever their destination.
    ///
    /// # Errors
    /// `NotPermitted` without CAP_NET_RAW; `InvalidInput` for a filter that libpcap rejects, or
    /// invalid buffer sizes; `NotSupported` for a filter if libpcap is not installed or the
    /// interface is simulated, for interfaces whose packets begin with neither an Ethernet nor an
    /// IP header, and for real interfaces on systems other than Linux; `NoSuchDevice`; `Busy` if
    /// the kernel does not allocate the buffer; with hardware timestamps also as
    /// [`correlator`](Self::correlator).
    pub fn capture(&self, options: &CaptureOptions) -> Result<Capture> {
        Capture::open(self, options)
    }

    /// Opens `count` captures that share the packets of this interface, one for each thread of a
    /// program.
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

    /// Receives packets from the driver through AF_XDP, before the kernel's network stack: see
    /// [`XdpReceiver`]. It uses the best mode that the system accepts; [`XdpReceiver::way`] returns
    /// it, [`XdpReceiver::tried`] the errors of better ones. Many drivers restart the NIC for this,
    /// and the link is down for seconds.
    ///
    /// # Errors
    /// `NotPermitted` without CAP_BPF, CAP_NET_ADMIN and CAP_NET_RAW; `NotSupported` if no mode
    /// works, or on a simulated interface; `Busy` if the interface already has an XDP program;
    /// `InvalidInput` for invalid options; `NoSuchDevice`.
    #[cfg(all(target_os = "linux", not(wirestamp_unsupported)))]
    pub fn receive_xdp(&self, options: &XdpOptions) -> Result<XdpReceiver> {
        XdpReceiver::open(self, options)
    }

    /// Sends frames through AF_XDP from memory shared with the driver, each with a transmit ID, in
    /// the best mode that works: see [`XdpSender`]. Zero copy is tried if frames then get the NIC's
    /// timestamp, unless [`XdpSendOptions::zero_copy`] says otherwise. Many drivers restart the NIC
    /// for zero copy, and the link is down for seconds.
    ///
    /// Requires CAP_NET_RAW; zero copy also requires CAP_BPF and CAP_NET_ADMIN.
    ///
    /// # Errors
    /// `NotPermitted`; `NotSupported` if no mode works, or for a simulated interface;
    /// `InvalidInput` for invalid options, or a queue that the interface does not have; `Busy` if
    /// the queue already has an AF_XDP socket (for example an [`XdpReceiver`]: open that on another
    /// queue); `NoSuchDevice`.
    #[cfg(all(target_os = "linux", not(wirestamp_unsupported)))]
    pub fn send_xdp(&self, options: &XdpSendOptions) -> Result<XdpSender> {
        XdpSender::open(self, options)
    }

    /// Returns what the driver supports for [`receive_xdp`](Self::receive_xdp) and
    /// [`send_xdp`](Self::send_xdp), and with which timestamps.
    ///
    /// # Errors
    /// `NotSupported` on kernels before 6.3, or for a simulated interface; `NoSuchDevice`.
    #[cfg(all(target_os = "linux", not(wirestamp_unsupported)))]
    pub fn xdp_features(&self) -> Result<XdpFeatures> {
        xdp::features(self)
    }

    /// Calls `callback` on every change that may affect this interface: see [`Watch`].
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
