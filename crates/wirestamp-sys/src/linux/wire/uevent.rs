//! Owns the meaning of kernel uevents: which hardware clock or network device came or went.
//!
//! Source: `lib/kobject_uevent.c`; a header `action@path`, then `KEY=value`, zero-terminated.

/// A uevent that concerns timestamping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Uevent {
    /// A hardware clock appeared or went away.
    HardwareClock,
    /// A network device appeared or went away.
    Network,
}

/// Reads a uevent; `None` for one that does not concern timestamping.
pub fn read(bytes: &[u8]) -> Option<Uevent> {
    let mut fields = bytes.split(|byte| *byte == 0);
    let header = fields.next()?;
    let action = header.split(|byte| *byte == b'@').next()?;
    if !matches!(action, b"add" | b"remove" | b"change" | b"move" | b"bind" | b"unbind") || action.len() == header.len()
    {
        return None;
    }
    fields.find_map(|field| match field {
        b"SUBSYSTEM=ptp" => Some(Uevent::HardwareClock),
        b"SUBSYSTEM=net" => Some(Uevent::Network),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_clocks_and_devices_from_the_rest() {
        let clock = b"add@/devices/pci0/ptp/ptp0\0ACTION=add\0SUBSYSTEM=ptp\0SEQNUM=7\0";
        assert_eq!(read(clock), Some(Uevent::HardwareClock));
        let device = b"remove@/devices/virtual/net/v0\0SUBSYSTEM=net\0";
        assert_eq!(read(device), Some(Uevent::Network));
        for other in [&b"add@/x\0SUBSYSTEM=block\0"[..], b"", b"libudev\0SUBSYSTEM=net\0", b"\0\0\0"] {
            assert_eq!(read(other), None);
        }
    }
}
