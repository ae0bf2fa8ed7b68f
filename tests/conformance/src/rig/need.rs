//! What a behaviour can need, and why a rig does not have it.

use super::{RigKind, cable};

/// Something that not every rig has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Need {
    /// A NIC with a clock and hardware timestamps.
    HardwareClock,
    /// A NIC without either.
    NoHardwareClock,
    /// A NIC of this driver, or one that is simulated after it.
    Driver(&'static str),
    /// A NIC whose clock runs as long as the system's, and does not jump by itself.
    MonotonicHardwareClock,
    /// A hardware clock that can be given virtual ones beside it.
    VirtualClocks,
    /// A NIC whose receive filter can take every packet.
    AllPackets,
    /// A NIC that timestamps what it sends.
    HardwareTransmit,
    /// A NIC that timestamps every packet it receives.
    HardwareReceive,
    /// A NIC that timestamps the PTP event messages it receives over UDP.
    HardwareReceivePtp,
    /// A NIC that advertises timestamps, and none ever come.
    HardwareSilent,
    /// A NIC that is made as the behaviour's setup says.
    Scenario,
    /// Faults on demand and the truth to compare with.
    Simulation,
    /// A link that can go down.
    Link,
    /// Interfaces that can be changed, removed and added without harm.
    Changes,
    /// A way that loses nothing however much is sent at once.
    Lossless,
    /// A network that the test owns: interfaces to rename, queues to fill, no way out.
    OwnNetwork,
    /// A real-time clock that can be stepped without harm.
    SteppableClock,
    /// Time that passes by itself, and threads that really wait.
    RealTime,
    /// Time that passes by calls alone, so that it is known when each began; and the truth.
    VirtualTime,
    /// A processor whose time means something.
    ProcessorTime,
    /// A real system.
    Native,
    /// Multicast over IPv6 on the near interface.
    MulticastIpv6,
    /// More than one name for an interface.
    AlternativeNames,
    /// Notices of finished zero-copy sends.
    ZeroCopy,
    /// Transmit timestamps that come some time after the send has returned.
    DelayedTimestamps,
    /// NICs that programs can switch.
    Switch,
    /// Sockets that choose the clock, or get timestamps of both.
    BothClocks,
    /// What Linux alone has: masks, numbered clocks with their methods, counted ids, an error
    /// queue, the UTC of a timestamp.
    Linux,
    /// Ethernet sockets.
    Frames,
    /// Captures.
    Captures,
    /// A way for a NIC's datagrams to come back to it.
    OwnPath,
    /// Windows' interface.
    Windows,
}

impl Need {
    /// Whether `kind` has it.
    ///
    /// # Errors
    /// Why not.
    pub fn check(self, kind: RigKind) -> Result<(), String> {
        if let (Self::Driver(name), RigKind::LinuxHardware) = (self, kind)
            && name != cable::driver()
        {
            return Err(format!(
                "it is about {name}, and this is {}",
                cable::driver()
            ));
        }
        let reason = match kind {
            RigKind::Simulator => self.why_not_simulated(),
            RigKind::LinuxLoopback | RigKind::Adopted(_) => self
                .why_not_on_loopback()
                .or(self.why_not_without_hardware()),
            RigKind::LinuxVeth => self.why_not_without_hardware(),
            RigKind::LinuxHardware => self.why_not_on_this_cable(),
            RigKind::WindowsModel => self.why_not_on_the_model(),
        };
        let is_linux = matches!(
            kind,
            RigKind::LinuxLoopback
                | RigKind::Adopted(_)
                | RigKind::LinuxVeth
                | RigKind::LinuxHardware
        );
        let reason = if is_linux {
            reason.or(self.why_not_on_linux())
        } else {
            reason
        };
        reason.map_or(Ok(()), |reason| Err(reason.to_owned()))
    }

    fn why_not_simulated(self) -> Option<&'static str> {
        Some(match self {
            Self::OwnNetwork => "the simulated host has neither ip nor tc",
            Self::RealTime | Self::ProcessorTime => "virtual time costs no processor time",
            Self::Native => "only a real system has it",
            Self::Windows => ONLY_WINDOWS,
            _ => return None,
        })
    }

    fn why_not_on_linux(self) -> Option<&'static str> {
        Some(match self {
            Self::Simulation | Self::Scenario | Self::VirtualTime => {
                "a kernel can't be made to do this at will"
            }
            Self::SteppableClock if !cable::has("emulated") => NEVER_STEPPED,
            Self::ZeroCopy => "wirestamp sends nothing zero-copy; the socket's own tests do",
            Self::Windows => ONLY_WINDOWS,
            _ => return None,
        })
    }

    fn why_not_on_loopback(self) -> Option<&'static str> {
        Some(match self {
            Self::Link => "loopback has no link that could go down",
            Self::Changes | Self::OwnNetwork | Self::AlternativeNames => {
                "the machine's own loopback interface and network are left as they are"
            }
            Self::MulticastIpv6 => "Linux has no IPv6 multicast route on loopback",
            Self::DelayedTimestamps => "on loopback a timestamp is there before the send returns",
            _ => return None,
        })
    }

    fn why_not_without_hardware(self) -> Option<&'static str> {
        Some(match self {
            Self::HardwareClock
            | Self::MonotonicHardwareClock
            | Self::VirtualClocks
            | Self::Driver(_)
            | Self::AllPackets
            | Self::HardwareTransmit
            | Self::HardwareReceive
            | Self::HardwareReceivePtp
            | Self::HardwareSilent => {
                "this interface has no hardware clock and no hardware timestamps"
            }
            _ => return None,
        })
    }

    fn why_not_on_this_cable(self) -> Option<&'static str> {
        let has = cable::has;
        Some(match self {
            Self::NoHardwareClock => "it is about a NIC without a clock",
            Self::AllPackets if cable::driver() == "igb" => {
                "the 82576 has no filter for all packets"
            }
            Self::MonotonicHardwareClock if cable::driver() != "igb" && !has("steady") => {
                "the emulated 82574's clock runs at a wrong rate and jumps"
            }
            Self::HardwareTransmit if !has("transmit") => {
                "this NIC timestamps nothing that it sends"
            }
            Self::HardwareReceive if !has("receive") => {
                "this NIC does not timestamp every packet that it receives"
            }
            Self::HardwareReceivePtp if !has("receive") && !has("receive-ptp") => {
                "this NIC does not timestamp PTP messages that it receives"
            }
            Self::HardwareSilent if has("transmit") || has("receive") => {
                "the timestamps of this NIC come"
            }
            Self::Link if !has("carrier") => "this cable does not tell whether the other end is on",
            Self::Lossless if has("emulated") => "an emulated NIC loses what comes all at once",
            Self::ProcessorTime if has("emulated") => "an emulator's processor time tells nothing",
            _ => return None,
        })
    }

    fn why_not_on_the_model(self) -> Option<&'static str> {
        Some(match self {
            Self::ZeroCopy => "Windows reports no zero-copy sends",
            Self::VirtualTime => "time passes by itself: when a call began is known only about",
            Self::Switch => {
                "on Windows programs can't switch a NIC: it is a property of its driver"
            }
            Self::BothClocks => {
                "Windows gives one timestamp a packet, of the clock that the NIC is set to"
            }
            Self::OwnNetwork => "it is done with ip and tc of Linux",
            Self::SteppableClock => {
                "Windows' timestamps are of the performance counter, which no step of the real-time clock touches"
            }
            Self::Linux | Self::VirtualClocks => "this is about something that Linux alone has",
            Self::Frames => "wirestamp has Ethernet sockets on Linux alone",
            Self::Captures => "wirestamp captures on Linux alone",
            Self::OwnPath => {
                "datagrams between two NICs of one host do not come back; a behaviour of its own measures with a peer"
            }
            _ => return None,
        })
    }
}

const ONLY_WINDOWS: &str =
    "this is about what Windows alone does; the simulator's own tests show its presets";
const NEVER_STEPPED: &str = "the clock of this machine is never stepped";
