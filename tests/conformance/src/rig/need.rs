//! Owns what a behaviour can need, and why a rig does not have it.

use super::RigKind;

/// Something that not every rig has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Need {
    /// An adapter with hardware stamps and a clock.
    HardwareClock,
    /// Faults on demand and the truth to compare with.
    Simulation,
    /// A link that can go down.
    Link,
    /// Interfaces that can be changed, removed and added without harm.
    Changes,
    /// A network that the test owns: interfaces to rename, queues to fill, no way out.
    OwnNetwork,
    /// A civil clock that can be stepped without harm.
    SteppableClock,
    /// Time that passes by itself, and threads that really wait.
    RealTime,
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
    /// Adapters that programs can switch.
    Switch,
    /// Sockets that choose the clock, or get stamps of both.
    BothClocks,
    /// What Linux alone has: masks, numbered clocks with their methods, counted ids, an error
    /// queue, the civil time of a stamp.
    Linux,
    /// A way for an adapter's datagrams to come back to it.
    OwnPath,
    /// Interfaces that no simulated one is called like, with one other name.
    OwnNames,
    /// Windows' interface.
    Windows,
}

impl Need {
    /// Whether `kind` has it.
    ///
    /// # Errors
    /// Why not.
    pub fn check(self, kind: RigKind) -> Result<(), String> {
        use RigKind::{LinuxLoopback as Loopback, LinuxVeth as Veth, Simulator, WindowsModel as Model};
        let reason = match (self, kind) {
            (Self::HardwareClock, Loopback | Veth) => "this interface has no hardware clock and no hardware stamps",
            (Self::Simulation, Loopback | Veth) => "a kernel can't be made to do this at will",
            (Self::Link, Loopback) => "loopback has no link that could go down",
            (Self::Changes | Self::OwnNetwork | Self::AlternativeNames, Loopback) => {
                "the machine's own loopback interface and network are left as they are"
            }
            (Self::OwnNetwork, Simulator) => "the simulated host has neither ip nor tc",
            (Self::SteppableClock, Loopback | Veth) => "the clock of this machine is never stepped",
            (Self::RealTime, Simulator) => "virtual time costs no processor time",
            (Self::Native, Simulator) => "only a real system has it",
            (Self::MulticastIpv6, Loopback) => "Linux has no IPv6 multicast route on loopback",
            (Self::DelayedStamps, Loopback) => "on loopback a stamp is there before the send returns",
            (Self::ZeroCopy, Loopback | Veth) => "wirestamp sends nothing zero-copy; the socket's own tests do",
            (Self::ZeroCopy, Model) => "Windows reports no zero-copy sends",
            (Self::Switch, Model) => "on Windows programs can't switch an adapter: it is a property of its driver",
            (Self::BothClocks, Model) => "Windows gives one stamp a packet, of the clock that the adapter is set to",
            (Self::Simulation | Self::Link | Self::Changes, Model) => {
                "the model is in a DLL behind the system's interface, and only its preset steers it"
            }
            (Self::OwnNetwork, Model) => "the model has neither ip nor tc",
            (Self::SteppableClock, Model) => "the clock of this machine is never stepped",
            (Self::Linux, Model) => "this is about something that Linux alone has",
            (Self::OwnPath, Model) => {
                "datagrams between two adapters of one host do not come back; a behaviour of its own measures with a peer"
            }
            (Self::OwnNames, Model) => {
                "the model's adapters are called as the simulated ones, and have two other names"
            }
            (Self::Windows, Simulator | Loopback | Veth) => {
                "this is about what Windows alone does; the simulator's own tests show its presets"
            }
            _ => return Ok(()),
        };
        Err(reason.to_owned())
    }
}
