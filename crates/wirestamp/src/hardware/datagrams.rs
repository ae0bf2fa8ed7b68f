//! Hardware timestamping of ordinary datagrams, in each direction that the NIC supports: the policy
//! of all measurements.

use super::{HardwareGuard, HardwareRequest};
use crate::interface::Interface;
use wirestamp_core::capability::{AddressFamily, Direction, HardwareCapabilities};
use wirestamp_core::{Error, ErrorKind, Result};

const OPERATION: &str = "enable hardware timestamps of datagrams";

impl Interface {
    /// Switches hardware timestamping of ordinary datagrams on until the guard is dropped: in both
    /// directions if the NIC supports that, else in one.
    ///
    /// [`timestamps_any_datagram`](HardwareCapabilities::timestamps_any_datagram) of the
    /// [`supported`](Self::supported) capabilities states the directions. Returns `None` if this
    /// process may not switch timestamping, but it is on already: then the program that switched it
    /// on can switch it off at any time.
    ///
    /// # Errors
    /// `NotSupported` if the NIC timestamps PTP messages only: use software timestamps. Otherwise as
    /// [`enable_hardware`](Self::enable_hardware).
    pub fn enable_datagram_hardware(&self) -> Result<Option<HardwareGuard>> {
        // a driver that cannot report its state may still accept a new one
        let active = self.active().map(|active| active.hardware);
        let active = active.unwrap_or_default();
        let supported = self.supported()?.hardware;
        let request = request(&supported).ok_or_else(|| {
            let cause = "this NIC timestamps PTP messages only";
            Error::new(ErrorKind::NotSupported, OPERATION, self.name(), cause)
                .with_remedy("use software timestamps")
        })?;
        let is_on = active.timestamps_datagrams_as(&supported);
        match self.enable_hardware(request) {
            Ok(guard) => Ok(Some(guard)),
            Err(_) if is_on && active.any() => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The request for the NIC; `None` if it timestamps PTP messages only. A NIC that reports no
/// capabilities is asked for everything, and its driver's error is returned.
fn request(supported: &HardwareCapabilities) -> Option<HardwareRequest> {
    let any = |direction| supported.timestamps_any_datagram(direction);
    Some(match (any(Direction::Transmit), any(Direction::Receive)) {
        (false, true) => HardwareRequest::Received,
        (true, true) => HardwareRequest::AllPackets,
        // a NIC that timestamps received PTP messages only still timestamps all sent packets
        (true, false) if takes_ptp(supported) => HardwareRequest::Ptp,
        (true, false) => HardwareRequest::Sent,
        (false, false) if takes_ptp(supported) => return None,
        (false, false) => HardwareRequest::AllPackets,
    })
}

fn takes_ptp(supported: &HardwareCapabilities) -> bool {
    [AddressFamily::Ipv4, AddressFamily::Ipv6]
        .into_iter()
        .any(|family| supported.timestamps_ptp_events(Direction::Receive, family))
}
