//! Sending: datagrams with the caller's ids.

use super::{Socket, lock, would_block};
use crate::abi::address::AddressBytes;
use crate::abi::numbers::{
    IP_PKTINFO, IPPROTO_IP, IPPROTO_IPV6, IPV6_PKTINFO, SO_TIMESTAMP_ID, SOL_SOCKET,
};
use crate::cmsg::ControlBuffer;
use crate::native::error::system_error;
use crate::native::{call, clock};
use std::io;
use std::net::IpAddr;
use std::os::windows::io::AsSocket;
use std::sync::atomic::Ordering;
use wirestamp_core::backend::{Outgoing, check_source};
use wirestamp_core::timestamp::TransmitId;
use wirestamp_core::{Error, Result};

/// Room for an id, and for the address that a datagram comes from.
const CONTROL: usize = 24 + 40;

impl Socket {
    pub(super) fn send_batch(&self, batch: &[Outgoing<'_>]) -> Result<usize> {
        for outgoing in batch {
            if let Some(to) = outgoing.to {
                self.check_family("send", to)?;
            }
            if let Some(source) = outgoing.source {
                self.check_family("send from an address", (source, 0).into())?;
                let to = outgoing.to.or(lock(&self.timestamping).peer);
                to.map_or(Ok(()), |to| check_source(source, to))?;
            }
        }
        for (sent, outgoing) in batch.iter().enumerate() {
            match self.send_one(outgoing) {
                Ok(()) => {}
                Err(error) if would_block(&error) => return Ok(sent),
                // What went before counts; the error is met again at the next call.
                Err(_) if sent > 0 => return Ok(sent),
                Err(error) => return Err(self.send_error(outgoing, &error)),
            }
        }
        Ok(batch.len())
    }

    fn send_one(&self, outgoing: &Outgoing<'_>) -> io::Result<()> {
        let to = outgoing
            .to
            .map_or(AddressBytes::NONE, |to| AddressBytes::new(to, self.ipv6));
        let id = outgoing
            .id
            .filter(|_| self.transmit_timestamps.load(Ordering::Acquire));
        let mut control = ControlBuffer::<CONTROL>::new();
        if let Some(id) = id {
            let fits = control.push(SOL_SOCKET, SO_TIMESTAMP_ID, &id.0.to_ne_bytes());
            debug_assert!(fits, "the control buffer holds one id");
        }
        let own = outgoing.source.map(|source| source.to_canonical());
        if let Some(source) = own.or(*lock(&self.source)) {
            let fits = push_source(&mut control, source);
            debug_assert!(fits, "the control buffer holds the source beside the id");
        }
        call::send_message(self.as_socket(), outgoing.payload, &to, &control)?;
        if let Some(id) = id {
            self.note_departure(id, outgoing);
        }
        Ok(())
    }

    pub(super) fn note_departure(&self, id: TransmitId, outgoing: &Outgoing<'_>) {
        lock(&self.timestamping).departed(id, outgoing.to, self.leaves_by, clock::now());
        // Whoever sleeps until it is worth asking has not heard of this one.
        if self.parked.load(Ordering::SeqCst) {
            self.nudge.set();
        }
        if self.tasks_wait.swap(false, Ordering::SeqCst) {
            self.departed.set();
        }
    }

    fn send_error(&self, outgoing: &Outgoing<'_>, error: &io::Error) -> Error {
        match outgoing.to {
            Some(to) => system_error(
                "send",
                format_args!("{} bytes to {to}", outgoing.payload.len()),
                error,
            ),
            None => system_error(
                "send",
                format_args!("{} bytes from {}", outgoing.payload.len(), self.name),
                error,
            ),
        }
    }
}

/// `IN_PKTINFO` and `IN6_PKTINFO`: the address, and the interface (0: whichever the route has).
fn push_source(control: &mut ControlBuffer<CONTROL>, source: IpAddr) -> bool {
    match source {
        IpAddr::V4(address) => {
            let mut information = [0; 8];
            information[..4].copy_from_slice(&address.octets());
            control.push(IPPROTO_IP, IP_PKTINFO, &information)
        }
        IpAddr::V6(address) => {
            let mut information = [0; 20];
            information[..16].copy_from_slice(&address.octets());
            control.push(IPPROTO_IPV6, IPV6_PKTINFO, &information)
        }
    }
}
