//! The GUID of an interface: made up from its LUID, as there are none here. Pure.

use crate::abi::winsock::Guid;

/// The GUID of a LUID.
pub(super) fn of(luid: u64) -> Guid {
    let [a, b, c, d, rest @ ..] = luid.to_be_bytes();
    let [e, f, g, h] = rest;
    Guid {
        data1: u32::from_be_bytes([a, b, c, d]),
        data2: 0,
        data3: 0,
        data4: [0, 0, 0, 0, e, f, g, h],
    }
}

/// As Windows writes it, and names adapters by it.
pub(super) fn text(guid: &Guid) -> String {
    let [a, b, rest @ ..] = guid.data4;
    let rest: String = rest.iter().map(|byte| format!("{byte:02X}")).collect();
    format!(
        "{{{:08X}-{:04X}-{:04X}-{a:02X}{b:02X}-{rest}}}",
        guid.data1, guid.data2, guid.data3
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_has_the_bytes_of_the_guid_in_their_order() {
        assert_eq!(
            text(&of(0x0006_0003_E800_0001)),
            "{00060003-0000-0000-0000-0000E8000001}"
        );
        let guid = Guid {
            data1: 0x0123_4567,
            data2: 0x89AB,
            data3: 0xCDEF,
            data4: [1, 2, 3, 4, 5, 6, 7, 8],
        };
        assert_eq!(text(&guid), "{01234567-89AB-CDEF-0102-030405060708}");
    }
}
