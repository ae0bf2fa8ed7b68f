//! The socket's options: which timestamps the kernel makes and reports, and how much it keeps.
//!
//! Source: the kernel's `Documentation/networking/timestamping.rst`; ip(7), ipv6(7), socket(7).

use super::probe;
use super::send::Sending;
use super::{Kind, Socket};
use crate::native::error::system_error;
use crate::native::wire::constants::{
    OPT_CMSG, OPT_ID, OPT_PKTINFO, OPT_RX_FILTER, OPT_TSONLY, OPT_TX_SWHW, RAW_HARDWARE,
    RX_HARDWARE, RX_SOFTWARE, SO_RXQ_OVFL, SO_TIMESTAMPING_NEW, SOFTWARE, TX_HARDWARE, TX_SCHED,
    TX_SOFTWARE,
};
use crate::native::{call, warm};
use socket2::{Domain, InterfaceIndexOrAddress, Protocol, SockRef, Type};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use wirestamp_core::backend::{BindOptions, Outgoing};
use wirestamp_core::capability::TimestampSource;
use wirestamp_core::configuration::{Granted, Identification, Source, Timestamping};
use wirestamp_core::interface::{InterfaceDescription, InterfaceIndex};
use wirestamp_core::timestamp::{CountRules, TransmitTracker};
use wirestamp_core::{Error, ErrorKind, Result};

const CONFIGURE: &str = "configure timestamping";
pub(super) const JOIN: &str = "join a multicast group";
pub(super) const LEAVE: &str = "leave a multicast group";

/// Opens a socket for `local`; dual-stack for the IPv6 "any" address.
pub(super) fn open(
    local: SocketAddr,
    interface: Option<&InterfaceDescription>,
    options: &BindOptions,
) -> io::Result<OwnedFd> {
    let kind = Type::DGRAM.nonblocking();
    let socket = socket2::Socket::new(Domain::for_address(local), kind, Some(Protocol::UDP))?;
    if local.is_ipv6() {
        let only = options.ipv6_only.unwrap_or(!local.ip().is_unspecified());
        socket.set_only_v6(only)?;
        // Kernels before 4.20 lack it and behave as if it were set; nothing depends on it.
        let _ = socket.set_multicast_all_v6(false);
    }
    // Without it a socket receives every group that anybody on this host joined.
    let _ = socket.set_multicast_all_v4(false);
    call::set_number(socket.as_fd(), libc::SOL_SOCKET, SO_RXQ_OVFL, 1)?;
    if options.reuse_address {
        socket.set_reuse_address(true)?;
    }
    if options.reuse_port {
        socket.set_reuse_port(true)?;
    }
    if let Some(interface) = interface {
        socket.bind_device(Some(interface.name.as_bytes()))?;
    }
    Ok(socket.into())
}

impl<K: Kind> Socket<K> {
    /// Puts `wanted` in force, all of it at once.
    pub(super) fn apply(
        &self,
        wanted: &Timestamping,
        tracker: &mut TransmitTracker,
    ) -> Result<Granted> {
        let failed = |error: io::Error| self.refused(&error);
        let mut sending = self.sending.write().unwrap_or_else(PoisonError::into_inner);
        let mut in_force = K::grantable(*wanted);
        if wanted.transmit.is_some()
            && wanted.identification == Identification::Carried
            && !probe::kernel_carries_ids()
        {
            in_force.identification = Identification::Counter;
        }
        let counted =
            in_force.transmit.is_some() && in_force.identification == Identification::Counter;
        let rules = if counted {
            Some(usable(probe::count_rules(), &self.name)?)
        } else {
            None
        };
        // What waits belongs to the ids so far, which the caller has given up.
        if tracker.count_state().is_some() {
            self.read_ahead(tracker)?;
        }
        self.end_quarantine(tracker)?;
        tracker.give_up();
        let flags = flags(&in_force, self.decide_naming(&in_force));
        // From off to on the kernel's count restarts at 0.
        if tracker.restarts_count(rules.is_some()) {
            self.set_flags(flags & !OPT_ID).map_err(failed)?;
        }
        self.set_flags(flags).map_err(failed)?;
        tracker.configure(&in_force, rules);
        let bits = transmit_bits(&in_force, rules);
        self.transmit_bits.store(bits, Ordering::Release);
        self.carried
            .store(!tracker.is_needed_to_send(), Ordering::Release);
        *sending = Sending::default(); // as the socket was just set
        drop(sending);
        self.receive_timestamps
            .store(in_force.receive, Ordering::Release);
        self.packet_information
            .store(in_force.packet_information, Ordering::Release);
        let hides = in_force.queueing && !in_force.source.includes(TimestampSource::Software);
        self.hides_software.store(hides, Ordering::Release);
        let information = self.needs_packet_information(&in_force);
        self.kind
            .set_information(self.as_fd(), information, in_force.icmp_errors)
            .map_err(failed)?;
        self.icmp_errors
            .store(in_force.icmp_errors, Ordering::Release);
        let system_queue = self.make_buffer(&in_force).map_err(failed)?;
        let granted = self.set_rings(in_force, system_queue);
        if in_force.receive && in_force.source.includes(TimestampSource::Software) {
            warm::wait_until_timestamping();
        }
        Ok(granted)
    }

    /// Whether datagrams come with packet information: for the caller, for a former owner who makes calls of its own, or
    /// because not every driver names the NIC that timestamped in hardware.
    fn needs_packet_information(&self, wanted: &Timestamping) -> bool {
        wanted.packet_information
            || wanted.receive && wanted.source.includes(TimestampSource::Hardware)
            || self.naming.is_by_kernel()
            || self.former.has_packet_information()
    }

    /// Sets `SO_TIMESTAMPING`; on kernels before 6.12 without the receive filter, which they lack.
    /// Remembers the value, because kernels before 6.8 do not report it.
    pub(super) fn set_flags(&self, flags: u32) -> io::Result<()> {
        let set = |flags: u32| {
            call::set_option(
                self.as_fd(),
                libc::SOL_SOCKET,
                SO_TIMESTAMPING_NEW,
                &flags.to_ne_bytes(),
            )
        };
        match set(flags) {
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => set(flags & !OPT_RX_FILTER),
            other => other,
        }?;
        self.flags.store(flags, Ordering::Release);
        Ok(())
    }

    /// Switches the kernel's count of timestamped datagrams back to 0.
    pub(super) fn restart_count(&self) -> io::Result<()> {
        let flags = self.flags.load(Ordering::Acquire);
        self.set_flags(flags & !OPT_ID)?;
        self.set_flags(flags | OPT_ID)
    }

    /// Has all datagrams timestamped with `bits` that say nothing else; 0: none. The count goes on.
    pub(super) fn timestamp_all(&self, bits: u32) -> io::Result<()> {
        let none = self.flags.load(Ordering::Acquire) & !(TX_SOFTWARE | TX_HARDWARE | TX_SCHED);
        self.set_flags(none | bits)
    }

    fn refused(&self, error: &io::Error) -> Error {
        if error.raw_os_error() != Some(libc::ENOPROTOOPT) {
            return self.failure(CONFIGURE, error);
        }
        let cause = format!("{} lacks SO_TIMESTAMPING_NEW", probe::kernel_name());
        let described = Error::new(ErrorKind::NotSupported, CONFIGURE, &self.name, cause);
        described
            .with_code(libc::ENOPROTOOPT)
            .with_remedy("needs Linux 5.10 or later")
    }

    /// Asks for a receive buffer that holds the timestamps, and returns how many fit.
    fn make_buffer(&self, wanted: &Timestamping) -> io::Result<Option<u32>> {
        let entries = wanted
            .transmit
            .map_or(0, |capacity| u32::from(capacity) * wanted.entries_per_id());
        let room = &self.naming.room;
        room.configure(self.as_fd(), self.naming.is_by_kernel(), entries)?;
        Ok(wanted.transmit.map(|_| room.entries()))
    }

    /// Where timestamps come with packets, makes room for those of datagrams that are not sent yet; returns how many of such
    /// fit.
    pub(super) fn room_for(&self, batch: &[Outgoing<'_, K::Transport>]) -> Option<u32> {
        let room = &self.naming.room;
        if !room.is_for_packets() {
            return None;
        }
        let timestamped = batch.iter().filter(|outgoing| outgoing.id.is_some());
        let lengths = timestamped.map(|outgoing| outgoing.payload.len());
        // the kernel refuses longer ones
        let longest = lengths
            .filter(|length| *length <= self.kind.longest())
            .max()?;
        Some(room.make_for(self.as_fd(), longest as u32))
    }
}

/// Refuses a kernel whose numbers can't do for the caller's ids.
fn usable(rules: CountRules, socket: &str) -> Result<CountRules> {
    if rules.restarts {
        return Ok(rules);
    }
    let cause = format!(
        "{} never restarts its count of timestamped datagrams",
        probe::kernel_name()
    );
    let remedy = "transmit timestamps need Linux 5.10 or later; receive timestamps work";
    Err(Error::new(ErrorKind::NotSupported, CONFIGURE, socket, cause).with_remedy(remedy))
}

/// `SOF_TIMESTAMPING_*` for the socket. Which packets are timestamped on transmit is said with
/// each; so packets without an id cost nothing. `named`: transmit timestamps come with the packet, for its device.
fn flags(wanted: &Timestamping, named: bool) -> u32 {
    let (software, hardware) = (
        wanted.source.includes(TimestampSource::Software),
        wanted.source.includes(TimestampSource::Hardware),
    );
    // A time in the queue is a software timestamp, whatever the source of the others.
    let queueing = wanted.queueing && wanted.transmit.is_some();
    let when = |condition: bool, bits: u32| if condition { bits } else { 0 };
    let on = wanted.receive || wanted.transmit.is_some();
    // Always with the filter: otherwise receive timestamps come in because another socket of this
    // host asked for them.
    when(on, OPT_RX_FILTER)
        | when(on && software || queueing, SOFTWARE)
        | when(on && hardware, RAW_HARDWARE)
        | when(wanted.receive && software, RX_SOFTWARE)
        | when(wanted.receive && hardware, RX_HARDWARE | OPT_PKTINFO)
        | when(wanted.transmit.is_some(), OPT_ID)
        | when(
            wanted.transmit.is_some(),
            if named { OPT_CMSG } else { OPT_TSONLY },
        )
        | when(
            wanted.transmit.is_some() && wanted.source == Source::Both,
            OPT_TX_SWHW,
        )
}

/// `SOF_TIMESTAMPING_TX_*` for one datagram. `rules`: where the kernel counts.
fn transmit_bits(wanted: &Timestamping, rules: Option<CountRules>) -> u32 {
    if wanted.transmit.is_none() {
        return 0;
    }
    let bit = |source, bit| {
        if wanted.source.includes(source) {
            bit
        } else {
            0
        }
    };
    let asked = bit(TimestampSource::Software, TX_SOFTWARE)
        | bit(TimestampSource::Hardware, TX_HARDWARE)
        | if wanted.queueing { TX_SCHED } else { 0 };
    // Asked for as well, so that the datagram is counted; it is not reported.
    if rules.is_some_and(|rules| rules.counts_by_software(wanted.source)) {
        asked | TX_SOFTWARE
    } else {
        asked
    }
}

/// Joins or leaves a multicast group.
pub(super) fn membership(
    fd: &OwnedFd,
    group: IpAddr,
    interface: InterfaceIndex,
    join: bool,
) -> Result<()> {
    let operation = if join { JOIN } else { LEAVE };
    let target = format!("{group} (interface {interface})");
    if !group.is_multicast() {
        let cause = "not a multicast address";
        return Err(Error::new(
            ErrorKind::InvalidInput,
            operation,
            target,
            cause,
        ));
    }
    let socket = SockRef::from(fd);
    let of_v4 = InterfaceIndexOrAddress::Index(interface.get());
    let result = match (group, join) {
        (IpAddr::V4(group), true) => socket.join_multicast_v4_n(&group, &of_v4),
        (IpAddr::V4(group), false) => socket.leave_multicast_v4_n(&group, &of_v4),
        (IpAddr::V6(group), true) => socket.join_multicast_v6(&group, interface.get()),
        (IpAddr::V6(group), false) => socket.leave_multicast_v6(&group, interface.get()),
    };
    result.map_err(|error| system_error(operation, target, &error))
}

/// By which interface multicast leaves, how far, and whether it comes back to this host.
pub(super) fn multicast(
    fd: &OwnedFd,
    ipv6: bool,
    interface: InterfaceIndex,
    hops: u32,
    loopback: bool,
) -> Result<()> {
    let operation = "configure multicast";
    let target = format!("interface {interface}");
    if hops > u8::MAX.into() {
        let cause = format!("a hop limit of {hops}; it is at most 255");
        return Err(Error::new(
            ErrorKind::InvalidInput,
            operation,
            target,
            cause,
        ));
    }
    let socket = SockRef::from(fd);
    let set = || {
        if ipv6 {
            socket.set_multicast_if_v6(interface.get())?;
            socket.set_multicast_hops_v6(hops)?;
            return socket.set_multicast_loop_v6(loopback);
        }
        // `ip_mreqn`: group, local address, interface. socket2 names it by an address alone.
        let own = [[0; 4], [0; 4], interface.get().to_ne_bytes()].concat();
        call::set_option(fd.as_fd(), libc::IPPROTO_IP, libc::IP_MULTICAST_IF, &own)?;
        socket.set_multicast_ttl_v4(hops)?;
        socket.set_multicast_loop_v4(loopback)
    };
    set().map_err(|error| system_error(operation, target, &error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    const HARDWARE: Timestamping = Timestamping::OFF.transmit(8).source(Source::Hardware);

    /// Otherwise each hardware timestamp has the number 0.
    #[test]
    fn where_hardware_alone_is_not_counted_software_is_asked_for_as_well_and_not_reported() {
        let older = CountRules {
            counts_hardware_alone: false,
            ..CountRules::FIXED
        };
        assert_eq!(
            transmit_bits(&HARDWARE, Some(older)),
            TX_HARDWARE | TX_SOFTWARE
        );
        for rules in [None, Some(CountRules::FIXED)] {
            assert_eq!(transmit_bits(&HARDWARE, rules), TX_HARDWARE);
        }
        assert_eq!(transmit_bits(&Timestamping::OFF, Some(older)), 0);
        assert_eq!(
            flags(&HARDWARE, false) & (SOFTWARE | RAW_HARDWARE),
            RAW_HARDWARE
        );
    }

    #[test]
    fn a_transmit_timestamp_comes_with_its_packet_only_where_the_kernel_names_the_device() {
        let how = OPT_TSONLY | OPT_CMSG;
        let asked = [true, false].map(|named| flags(&HARDWARE, named) & how);
        assert_eq!(asked, [OPT_CMSG, OPT_TSONLY]);
    }

    #[test]
    fn the_queueing_discipline_is_asked_beside_the_source_and_reported_as_software() {
        let queueing = HARDWARE.queueing();
        assert_eq!(transmit_bits(&queueing, None), TX_HARDWARE | TX_SCHED);
        let reported = SOFTWARE | RAW_HARDWARE;
        assert_eq!(flags(&queueing, false) & reported, reported);
        let receives_alone = Timestamping::OFF.receive().queueing();
        assert_eq!(transmit_bits(&receives_alone, None), 0);
        let hardware = receives_alone.source(Source::Hardware);
        assert_eq!(flags(&hardware, false) & reported, RAW_HARDWARE);
    }

    #[test]
    fn a_kernel_that_can_not_do_it_is_refused_by_name() {
        let name = probe::kernel_name();
        assert!(
            name.starts_with("Linux ") && name.len() > "Linux ".len(),
            "{name}"
        );
        let stuck = usable(
            CountRules {
                restarts: false,
                ..CountRules::FIXED
            },
            "a socket",
        )
        .expect_err("stuck");
        let socket =
            Socket::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), None).expect("a socket");
        let older = socket.refused(&io::Error::from_raw_os_error(libc::ENOPROTOOPT));
        for error in [stuck, older] {
            assert_eq!(error.kind(), ErrorKind::NotSupported);
            let text = error.to_string();
            assert!(
                text.contains(&name) && text.contains("Linux 5.10"),
                "{text}"
            );
        }
    }
}
