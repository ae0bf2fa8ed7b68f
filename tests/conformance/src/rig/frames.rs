//! Ethernet sockets at both ends of a rig. Sends nothing.

use super::{Rig, RigKind, is_privileged};
use crate::exchange::PATIENCE;
use crate::{Outcome, Stop};
use std::process;
use std::sync::atomic::{AtomicU16, Ordering};
use wirestamp::ethernet::{EthernetSocket, Ethertype, MacAddress, VlanTag};
use wirestamp::{Error, ErrorKind, InterfaceIndex, Received, Timestamping};

/// A socket at each end, and the way from one to the other.
#[derive(Debug)]
pub(crate) struct Frames {
    pub(crate) near: EthernetSocket,
    pub(crate) far: EthernetSocket,
    /// Leads to the far end.
    pub(crate) to: MacAddress,
    pub(crate) far_index: InterfaceIndex,
    ethertype: Ethertype,
}

impl Frames {
    /// Receives the next frame, which must come.
    pub(crate) fn receive(
        &self,
        buffer: &mut [u8],
    ) -> Outcome<Received<wirestamp::ethernet::Ethernet>> {
        let received = self.far.receive(buffer, PATIENCE)?;
        Ok(received.expect("the frame arrives"))
    }

    /// Sends a frame with a VLAN tag past wirestamp, which sends none: a packet socket sends what is written to it
    /// as it is.
    pub(crate) fn send_tagged(&self, tag: VlanTag, payload: &[u8]) -> Outcome {
        let frame = [
            &self.to.octets()[..],
            &self.near.local_address()?.octets(),
            &[0x81, 0x00],
            &tag.bits().to_be_bytes(),
            &self.ethertype.get().to_be_bytes(),
            payload,
        ];
        write_to(&self.near, &frame.concat())
    }
}

#[cfg(target_os = "linux")]
fn write_to(socket: &EthernetSocket, frame: &[u8]) -> Outcome {
    use std::io::Write;
    use std::os::fd::AsFd;
    let failed = |error: std::io::Error| error.to_string();
    let descriptor = socket.as_fd().try_clone_to_owned().map_err(failed)?;
    let written = std::fs::File::from(descriptor).write_all(frame);
    Ok(written.map_err(failed)?)
}

#[cfg(not(target_os = "linux"))]
fn write_to(socket: &EthernetSocket, _: &[u8]) -> Outcome {
    Err(Stop::lacking(format!("{socket:?} has no descriptor here")))
}

impl Rig {
    /// An ethertype that no other behaviour uses now: on loopback all of them share one interface.
    pub(crate) fn ethertype(&self) -> Ethertype {
        static NEXT: AtomicU16 = AtomicU16::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let place = process::id() as u16 % 64 * 64 + number % 64;
        Ethertype::new(0x6100 + place).expect("above the lengths, below the VLAN tags")
    }

    /// A sender and a receiver, configured; receive timestamps are warm.
    pub(crate) fn frames(&self, sending: Timestamping, receiving: Timestamping) -> Outcome<Frames> {
        self.frames_of(self.ethertype(), sending, receiving)
    }

    /// The same for a certain ethertype.
    pub(crate) fn frames_of(
        &self,
        ethertype: Ethertype,
        sending: Timestamping,
        receiving: Timestamping,
    ) -> Outcome<Frames> {
        let near = self.privileged(self.near()?.open_ethernet(ethertype))?;
        let (far, far_index) = self.at_far(|| -> Outcome<_> {
            let far = self.far()?;
            let socket = self.privileged(far.open_ethernet(ethertype))?;
            Ok((socket, far.description().index))
        })?;
        near.configure(sending)?;
        far.configure(receiving)?;
        self.warm_up();
        let to = far.local_address()?;
        Ok(Frames {
            near,
            far,
            to,
            far_index,
            ethertype,
        })
    }

    /// What needs CAP_NET_RAW: lacking where nobody has given it.
    pub(crate) fn privileged<T>(&self, opened: Result<T, Error>) -> Outcome<T> {
        match opened {
            Err(error)
                if error.kind() == ErrorKind::NotPermitted
                    && self.kind() == RigKind::LinuxLoopback
                    && !is_privileged() =>
            {
                Err(Stop::lacking(error.to_string()))
            }
            other => Ok(other?),
        }
    }
}
