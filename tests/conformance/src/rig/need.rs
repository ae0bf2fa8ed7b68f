//! Owns what a behaviour can need, and why a rig does not have it.

use super::{RigKind, cable};

/// Something that not every rig has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Need {
    /// An adapter with a clock whose hardware stamping can be switched.
    HardwareClock,
    /// An adapter without either.
    NoHardwareClock,
    /// An adapter of this driver, or one that is simulated after it.
    Driver(&'static str),
    /// An adapter whose receive filter can take every packet.
    AllPackets,
    /// An adapter that stamps what it sends.
    HardwareTransmit,
    /// An adapter that stamps every packet it receives.
    HardwareReceive,
    /// An adapter that stamps the PTP event messages it receives over UDP.
    HardwareReceivePtp,
    /// An adapter that advertises stamps, and none ever come.
    HardwareSilent,
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
    /// A civil clock that can be stepped without harm.
    SteppableClock,
    /// Time that passes by itself, and threads that really wait.
    RealTime,
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
    /// Transmit stamps that come some time after the send has returned.
    DelayedStamps,
}

impl Need {
    /// Why `kind` does not have it.
    pub(super) fn check(self, kind: RigKind) -> Result<(), String> {
        use RigKind::{LinuxHardware as Hardware, LinuxLoopback as Loopback, LinuxVeth as Veth, Simulator};
        let reason = match (self, kind) {
            (
                Self::HardwareClock
                | Self::Driver(_)
                | Self::AllPackets
                | Self::HardwareTransmit
                | Self::HardwareReceive
                | Self::HardwareReceivePtp
                | Self::HardwareSilent,
                Loopback | Veth,
            ) => "this interface has no hardware clock and no hardware stamps",
            (Self::Driver(name), Hardware) if cable::driver() != name => {
                return Err(format!("it is about {name}, and this is {}", cable::driver()));
            }
            (Self::AllPackets, Hardware) if cable::driver() == "igb" => "the 82576 has no filter for all packets",
            (Self::NoHardwareClock, Hardware) => "it is about an adapter without a clock",
            (Self::HardwareTransmit, Hardware) if !cable::has("transmit") => {
                "this adapter stamps nothing that it sends"
            }
            (Self::HardwareReceive, Hardware) if !cable::has("receive") => {
                "this adapter does not stamp every packet that it receives"
            }
            (Self::HardwareReceivePtp, Hardware) if !cable::has("receive-ptp") => {
                "this adapter does not stamp PTP messages that it receives"
            }
            (Self::HardwareSilent, Hardware) if cable::has("transmit") || cable::has("receive") => {
                "the stamps of this adapter come"
            }
            (Self::Simulation, Loopback | Veth | Hardware) => "a kernel can't be made to do this at will",
            (Self::Link, Hardware) if !cable::has("carrier") => "this cable does not tell whether the other end is on",
            (Self::Link, Loopback) => "loopback has no link that could go down",
            (Self::Changes | Self::OwnNetwork | Self::AlternativeNames, Loopback) => {
                "the machine's own loopback interface and network are left as they are"
            }
            (Self::OwnNetwork, Simulator) => "the simulated host has neither ip nor tc",
            (Self::SteppableClock, Loopback | Veth | Hardware) => "the clock of this machine is never stepped",
            (Self::RealTime | Self::ProcessorTime, Simulator) => "virtual time costs no processor time",
            (Self::ProcessorTime, Hardware) if cable::has("emulated") => "an emulator's processor time tells nothing",
            (Self::Lossless, Hardware) if cable::has("emulated") => "an emulated adapter loses what comes all at once",
            (Self::Native, Simulator) => "only a real system has it",
            (Self::MulticastIpv6, Loopback) => "Linux has no IPv6 multicast route on loopback",
            (Self::DelayedStamps, Loopback) => "on loopback a stamp is there before the send returns",
            (Self::ZeroCopy, Loopback | Veth | Hardware) => {
                "wirestamp sends nothing zero-copy; the socket's own tests do"
            }
            _ => return Ok(()),
        };
        Err(reason.to_owned())
    }
}
