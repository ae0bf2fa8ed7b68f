//! A parser of Linux' uevents about hardware clocks and network devices.
//!
//! Source: `lib/kobject_uevent.c`: a header `action@path`, then `KEY=value` fields, all
//! zero-terminated.

/// A uevent that concerns timestamping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Uevent {
    /// A hardware clock appeared or disappeared.
    HardwareClock,
    /// A network device appeared or disappeared.
    Network,
}

/// Parses a uevent; `None` for one that does not concern timestamping. Virtual clocks are ignored,
/// because the NIC's own clock continues to make the timestamps.
pub fn read(bytes: &[u8]) -> Option<Uevent> {
    let mut fields = bytes.split(|byte| *byte == 0);
    let header = fields.next()?;
    let action = header.split(|byte| *byte == b'@').next()?;
    if !matches!(
        action,
        b"add" | b"remove" | b"change" | b"move" | b"bind" | b"unbind"
    ) || action.len() == header.len()
    {
        return None;
    }
    let is_virtual = is_virtual_clock(header);
    fields.find_map(|field| match field {
        b"SUBSYSTEM=ptp" if is_virtual => None,
        b"SUBSYSTEM=ptp" => Some(Uevent::HardwareClock),
        b"SUBSYSTEM=net" => Some(Uevent::Network),
        _ => None,
    })
}

/// Whether the device is a virtual clock, whose path is below that of its parent clock:
/// `…/ptp/ptp0/ptp2`.
fn is_virtual_clock(path: &[u8]) -> bool {
    let is_clock = |name: &[u8]| {
        name.strip_prefix(b"ptp")
            .is_some_and(|number| !number.is_empty())
    };
    let mut names = path.rsplit(|byte| *byte == b'/');
    names.next().is_some_and(is_clock) && names.next().is_some_and(is_clock)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_clocks_and_devices_from_the_rest() {
        let clock = b"add@/devices/pci0/ptp/ptp0\0ACTION=add\0SUBSYSTEM=ptp\0SEQNUM=7\0";
        assert_eq!(read(clock), Some(Uevent::HardwareClock));
        let virtual_clock =
            b"add@/devices/pci0/ptp/ptp0/ptp2\0ACTION=add\0SUBSYSTEM=ptp\0SEQNUM=8\0";
        assert_eq!(read(virtual_clock), None);
        let device = b"remove@/devices/virtual/net/v0\0SUBSYSTEM=net\0";
        assert_eq!(read(device), Some(Uevent::Network));
        for other in [
            &b"add@/x\0SUBSYSTEM=block\0"[..],
            b"",
            b"libudev\0SUBSYSTEM=net\0",
            b"\0\0\0",
        ] {
            assert_eq!(read(other), None);
        }
    }
}
