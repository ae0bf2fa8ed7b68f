//! What AF_XDP can do on a NIC, as its driver says: whether packets are copied, and in which direction the NIC's timestamps are
//! to be had. Opens no socket.

use super::check::{Check, Status};
use wirestamp::xdp::{XdpFeatures, XdpWay};
use wirestamp::{Error, ErrorKind, Interface};

const TOLD: &str = "the driver reports NIC timestamps";

/// `None`: the interface is gone, or simulated.
pub(super) fn check(interface: &Interface) -> Option<Check> {
    match interface.xdp_features() {
        Ok(features) => Some(Check::new("af_xdp", status(features), text(features))),
        Err(error) => untold(&error),
    }
}

fn untold(error: &Error) -> Option<Check> {
    let is_old = error.kind() == ErrorKind::NotSupported;
    is_old.then(|| Check::new("af_xdp", Status::Skip, error.remedy()))
}

fn status(features: XdpFeatures) -> Status {
    if features.driver {
        Status::Ok
    } else {
        Status::Skip
    }
}

fn text(features: XdpFeatures) -> String {
    if !features.driver {
        return "the driver has no XDP: packets are copied by the kernel, and none has the NIC's timestamp".into();
    }
    let copy = if features.zero_copy {
        "without a copy"
    } else {
        "with a copy"
    };
    let received = if features.receive_timestamp {
        TOLD
    } else {
        "no NIC timestamps"
    };
    let best = XdpWay::to_send(features, None).next();
    let sent = match best.and_then(|(_, obstacle)| obstacle) {
        None => TOLD.to_owned(),
        Some(why_not) => {
            format!("no NIC timestamps ({why_not}), which an Ethernet socket may have")
        }
    };
    format!("receive {copy}, {received}; transmit {copy}, {sent}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_direction_is_told_with_the_reason_why_nothing_is_timestamped() {
        let told = |driver, receive, socket| {
            let features = XdpFeatures::from_masks(driver, receive, socket);
            (status(features), text(features))
        };
        let (able, old, veth) = (told(0xf, 1, 1), told(0xb, 0, 0), told(0x33, 7, 0));
        assert_eq!(
            able.1,
            "receive without a copy, the driver reports NIC timestamps; transmit without a copy, the driver reports NIC timestamps"
        );
        assert_eq!(
            old.1,
            "receive without a copy, no NIC timestamps; transmit without a copy, no NIC timestamps (the driver does not tell of transmit timestamps for AF_XDP), which an Ethernet socket may have"
        );
        assert_eq!(
            veth.1,
            "receive with a copy, the driver reports NIC timestamps; transmit with a copy, no NIC timestamps (the driver takes no frames without a copy), which an Ethernet socket may have"
        );
        assert_eq!(veth.0, Status::Ok);
        // tells of timestamps, and takes no frame without a copy
        assert!(told(0x7, 0, 1).1.contains("takes no frames without a copy"));
        let none = told(0, 0, 0);
        assert!(none.1.contains("no XDP") && none.0 == Status::Skip);
    }

    #[test]
    fn a_kernel_that_does_not_tell_is_no_fault() {
        let error = |kind| Error::new(kind, "ask", "eth0", "no").with_remedy("before 6.3");
        let old = untold(&error(ErrorKind::NotSupported)).expect("told");
        assert_eq!(
            (old.status, old.explanation.as_str()),
            (Status::Skip, "before 6.3")
        );
        assert!(untold(&error(ErrorKind::NoSuchDevice)).is_none());
    }
}
