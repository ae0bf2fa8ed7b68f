//! Timestamps of ordinary datagrams, in each direction in which the NIC has them: the policy of everything that measures.

use super::{HardwareGuard, HardwareRequest};
use crate::interface::Interface;
use wirestamp_core::capability::{AddressFamily, Direction, HardwareCapabilities};
use wirestamp_core::{Error, ErrorKind, Result};

const OPERATION: &str = "enable hardware timestamps of datagrams";

impl Interface {
    /// Switches hardware timestamping of ordinary datagrams on, in both directions if the NIC can, else in the one that it
    /// timestamps, until the guard is dropped.
    ///
    /// Which directions those are says [`supported`](Self::supported):
    /// [`timestamps_any_datagram`](HardwareCapabilities::timestamps_any_datagram). `None` if the system does not let this
    /// process switch it, and it is on already: then whoever switched it on can switch it off.
    ///
    /// # Errors
    /// `NotSupported` if the NIC timestamps PTP messages only: use software timestamps. Otherwise as
    /// [`enable_hardware`](Self::enable_hardware).
    pub fn enable_datagram_hardware(&self) -> Result<Option<HardwareGuard>> {
        // a driver that cannot tell what is on can still be asked to switch it
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

/// `None`: PTP messages alone. A NIC that states nothing is asked all the same, and its driver's answer is the error.
fn request(supported: &HardwareCapabilities) -> Option<HardwareRequest> {
    let any = |direction| supported.timestamps_any_datagram(direction);
    Some(match (any(Direction::Transmit), any(Direction::Receive)) {
        (false, true) => HardwareRequest::Received,
        (true, true) => HardwareRequest::AllPackets,
        // one that takes PTP messages alone still timestamps whatever is sent
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
