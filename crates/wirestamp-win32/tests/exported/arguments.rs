//! Wrong arguments: null, misaligned, short and huge ones have an error code, or are served.

use crate::calls::{Room, bound, code, configure, ipv4, nothing, receive_message, start};
use std::ptr::null_mut;
use wirestamp_win32::abi::numbers::{SIO_GET_TX_TIMESTAMP, SIO_TIMESTAMPING};
use wirestamp_win32::abi::winsock::{WsaBuffer, WsaMessage};
use wirestamp_win32::iphlp::exports::{
    CaptureInterfaceHardwareCrossTimestamp, ConvertInterfaceAliasToLuid,
    ConvertInterfaceIndexToLuid, ConvertInterfaceLuidToAlias, ConvertInterfaceLuidToIndex,
    GetAdaptersAddresses, GetInterfaceActiveTimestampCapabilities,
    RegisterInterfaceTimestampConfigChange, UnregisterInterfaceTimestampConfigChange,
};
use wirestamp_win32::winsock::exports::{bind, getsockopt, setsockopt};
use wirestamp_win32::winsock::messages::{WSAIoctl, WSASendMsg};

const FAULT: i32 = 10_014;

#[test]
fn ioctls_refuse_null_and_short_buffers_and_serve_misaligned_ones() {
    start();
    let (socket, _) = bound([127, 0, 0, 1]);
    let mut bytes = 0;
    let mut memory = [0u8; 33];
    memory[1] = 3;
    memory[5] = 2;
    let ioctl = |number, input: *const u8, input_length, output: *mut u8, output_length, bytes| {
        let (input, output) = (input.cast(), output.cast());
        // SAFETY: null, or memory of this length.
        code(unsafe {
            WSAIoctl(
                socket,
                number,
                input,
                input_length,
                output,
                output_length,
                bytes,
                null_mut(),
                None,
            )
        })
    };
    let (config, bytes) = (memory[1..].as_ptr(), &raw mut bytes);
    assert_eq!(
        ioctl(SIO_TIMESTAMPING, nothing(), 8, null_mut(), 0, bytes),
        FAULT
    );
    assert_eq!(
        ioctl(SIO_TIMESTAMPING, config, 7, null_mut(), 0, bytes),
        FAULT
    );
    assert_eq!(
        ioctl(SIO_TIMESTAMPING, config, 8, null_mut(), 0, null_mut()),
        FAULT
    );
    assert_eq!(
        ioctl(SIO_TIMESTAMPING, config, 8, null_mut(), 0, bytes),
        0,
        "misaligned"
    );
    assert_eq!(
        ioctl(
            SIO_TIMESTAMPING,
            config,
            u32::MAX,
            null_mut(),
            u32::MAX,
            bytes
        ),
        0,
        "huge"
    );
    let mut timestamp = [0u8; 9];
    assert_eq!(
        ioctl(SIO_GET_TX_TIMESTAMP, config, 4, null_mut(), 8, bytes),
        FAULT
    );
    assert_eq!(
        ioctl(
            SIO_GET_TX_TIMESTAMP,
            config,
            4,
            timestamp[1..].as_mut_ptr(),
            7,
            bytes
        ),
        FAULT
    );
    assert_eq!(
        ioctl(
            SIO_GET_TX_TIMESTAMP,
            config,
            3,
            timestamp[1..].as_mut_ptr(),
            8,
            bytes
        ),
        FAULT
    );
    assert_eq!(
        ioctl(
            SIO_GET_TX_TIMESTAMP,
            config,
            4,
            timestamp[1..].as_mut_ptr(),
            8,
            bytes
        ),
        10_035
    );
    assert_eq!(ioctl(0x1234_5678, config, 4, null_mut(), 0, bytes), 10_045);
}

#[test]
fn messages_refuse_null_where_there_must_be_memory() {
    start();
    let (socket, name) = bound([127, 0, 0, 1]);
    assert_eq!(configure(socket, 3, 4), 0);
    let mut bytes = 0;
    let payload = [1u8; 4];
    let mut buffer = WsaBuffer {
        length: 4,
        buffer: payload.as_ptr().cast_mut(),
    };
    let good = WsaMessage {
        name: name.as_ptr().cast_mut(),
        name_length: 16,
        buffers: &raw mut buffer,
        buffer_count: 1,
        control: WsaBuffer {
            length: 0,
            buffer: null_mut(),
        },
        flags: 0,
    };
    let bytes = &raw mut bytes;
    let send = |message: *const WsaMessage| {
        // SAFETY: null, or a message whose pointers are null or valid for their lengths.
        code(unsafe { WSASendMsg(socket, message, 0, bytes, null_mut(), None) })
    };
    let null_buffer = WsaBuffer {
        length: 4,
        buffer: null_mut(),
    };
    let bad = [
        (
            WsaMessage {
                buffers: null_mut(),
                ..good
            },
            FAULT,
        ),
        (
            WsaMessage {
                buffer_count: u32::MAX,
                ..good
            },
            10_022,
        ),
        (
            WsaMessage {
                control: null_buffer,
                ..good
            },
            FAULT,
        ),
        (
            WsaMessage {
                name: null_mut(),
                ..good
            },
            FAULT,
        ),
        (
            WsaMessage {
                name: null_mut(),
                name_length: 0,
                ..good
            },
            10_057,
        ),
        (
            WsaMessage {
                name_length: 15,
                ..good
            },
            FAULT,
        ),
        (
            WsaMessage {
                name_length: -1,
                ..good
            },
            FAULT,
        ),
    ];
    assert_eq!(send(nothing()), FAULT);
    for (message, expected) in bad {
        assert_eq!(send(&raw const message), expected, "{message:?}");
    }
    let mut nowhere = null_buffer;
    let without = WsaMessage {
        buffers: &raw mut nowhere,
        ..good
    };
    assert_eq!(send(&raw const without), FAULT);
    let mut empty = WsaBuffer {
        length: 0,
        buffer: null_mut(),
    };
    let nothing_in_it = WsaMessage {
        buffers: &raw mut empty,
        ..good
    };
    assert_eq!(send(&raw const nothing_in_it), 0, "an empty datagram");
    assert_eq!(Room::new(8).receive(socket), Ok(0));
}

#[test]
fn receiving_checks_its_message_before_it_waits() {
    start();
    let (socket, _) = bound([127, 0, 0, 1]);
    let function = receive_message(socket);
    let receive = |message: *mut WsaMessage| {
        // SAFETY: null, or a message whose pointers are null or valid for their lengths.
        code(unsafe { function(socket, message, null_mut(), null_mut(), None) })
    };
    assert_eq!(receive(null_mut()), FAULT);
    let mut name = ipv4([0; 4], 0);
    let bad: [fn(&mut WsaMessage, *mut u8); 5] = [
        |message, _| message.name_length = 16,
        |message, name| (message.name, message.name_length) = (name, 15),
        |message, _| message.control.buffer = null_mut(),
        |message, _| message.buffers = null_mut(),
        |message, _| message.name_length = i32::MIN,
    ];
    for spoil in bad {
        let mut room = Room::new(8);
        spoil(&mut room.message, name.as_mut_ptr());
        assert_eq!(receive(&raw mut *room.message), FAULT);
    }
}

#[test]
fn options_and_addresses_of_any_length_are_answered() {
    start();
    let (socket, name) = bound([127, 0, 0, 1]);
    for length in [i32::MIN, -1, 0, 1, 15] {
        assert_eq!(
            // SAFETY: the address is longer.
            code(unsafe { bind(socket, name.as_ptr(), length) }),
            FAULT,
            "{length}"
        );
    }
    // SAFETY: null is allowed.
    assert_eq!(code(unsafe { bind(socket, nothing(), 16) }), FAULT);
    for length in [i32::MIN, -1, 0, 3] {
        let mut room = length;
        let mut value = [0u8; 8];
        // SAFETY: the value is longer.
        let got =
            code(unsafe { getsockopt(socket, 0xFFFF, 0x1008, value.as_mut_ptr(), &raw mut room) });
        assert_eq!(got, FAULT, "{length}");
        // SAFETY: the value is longer.
        let set = code(unsafe { setsockopt(socket, 0xFFFF, 0x1006, value.as_ptr(), length) });
        assert_eq!(set, FAULT, "{length}");
    }
}

#[test]
fn interface_functions_refuse_null_and_unknown_adapters() {
    let unknown = 0x0006_00FF_FFFF_0000u64;
    let mut room = [0u64; 8];
    let room = room.as_mut_ptr();
    assert_eq!(
        // SAFETY: null is allowed.
        unsafe { GetInterfaceActiveTimestampCapabilities(nothing(), room.cast()) },
        87
    );
    assert_eq!(
        // SAFETY: null is allowed.
        unsafe { GetInterfaceActiveTimestampCapabilities(&raw const unknown, null_mut()) },
        87
    );
    assert_eq!(
        // SAFETY: room for the structure.
        unsafe { GetInterfaceActiveTimestampCapabilities(&raw const unknown, room.cast()) },
        2
    );
    assert_eq!(
        // SAFETY: room for the structure.
        unsafe { CaptureInterfaceHardwareCrossTimestamp(&raw const unknown, room.cast()) },
        2
    );
    // SAFETY: room for the number.
    assert_eq!(unsafe { ConvertInterfaceIndexToLuid(0, room) }, 2);
    // SAFETY: null is allowed.
    assert_eq!(unsafe { ConvertInterfaceAliasToLuid(nothing(), room) }, 87);
    assert_eq!(
        // SAFETY: null is allowed.
        unsafe { ConvertInterfaceLuidToIndex(&raw const unknown, null_mut()) },
        87
    );
    assert_eq!(
        // SAFETY: no adapter has it.
        unsafe { ConvertInterfaceLuidToAlias(&raw const unknown, room.cast(), 0) },
        2
    );
    assert_eq!(
        // SAFETY: null is allowed.
        unsafe { RegisterInterfaceTimestampConfigChange(None, null_mut(), room.cast()) },
        87
    );
    // SAFETY: an unknown handle does nothing.
    unsafe { UnregisterInterfaceTimestampConfigChange(room.cast()) };
    assert_eq!(
        // SAFETY: null is allowed.
        unsafe { GetAdaptersAddresses(0, 0, null_mut(), null_mut(), null_mut()) },
        87
    );
}

#[test]
fn the_list_of_adapters_needs_exactly_the_room_it_says() {
    let mut size = 0;
    assert_eq!(
        // SAFETY: null is allowed.
        unsafe { GetAdaptersAddresses(0, 0, null_mut(), null_mut(), &raw mut size) },
        111
    );
    let mut memory = vec![0u64; size as usize / 8 + 2];
    let room = memory.as_mut_ptr().cast::<u8>();
    let mut short = size - 1;
    assert_eq!(
        // SAFETY: the memory is longer.
        unsafe { GetAdaptersAddresses(0, 0, null_mut(), room, &raw mut short) },
        111
    );
    assert_eq!(short, size);
    assert_eq!(
        // SAFETY: the memory is longer, by more than this one byte.
        unsafe { GetAdaptersAddresses(0, 0, null_mut(), room.wrapping_add(1), &raw mut size) },
        87
    );
    assert!(memory.iter().all(|word| *word == 0), "untouched");
    let room = memory.as_mut_ptr().cast::<u8>();
    assert_eq!(
        // SAFETY: the memory is as long.
        unsafe { GetAdaptersAddresses(0, 0, null_mut(), room, &raw mut size) },
        0
    );
    assert_eq!(memory[0] & 0xFFFF_FFFF, 448);
    assert_eq!(
        // SAFETY: null is allowed.
        unsafe { GetAdaptersAddresses(99, 0, null_mut(), null_mut(), &raw mut size) },
        87
    );
}
