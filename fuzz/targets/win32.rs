//! The exported functions of the C interface: any handles, null, misaligned and too short
//! memory, any lengths and numbers. Each answers; what it answers is an error or was served.
//!
//! What is claimed beyond the memory that there is, is claimed from places behind which as much
//! is as the library looks at: 64 KiB. Wild pointers are the caller's fault, as in C.

#![no_main]

use arbitrary::{Arbitrary, Unstructured};
use libfuzzer_sys::fuzz_target;
use std::ptr::null_mut;
use std::sync::{LazyLock, Once};
use wirestamp_win32::abi::winsock::{Handle, WsaBuffer, WsaMessage};
use wirestamp_win32::iphlp::exports as iphlp;
use wirestamp_win32::iphlp::{best, names, old};
use wirestamp_win32::system::{exports as system, messages as words};
use wirestamp_win32::winsock::{completion, selecting};
use wirestamp_win32::winsock::{events, exports as winsock, messages, presentation, transfer};

/// Memory that outlives every overlapped operation.
const BYTES: usize = 1 << 18;
/// Places are in the first part, so that 64 KiB follow each, whatever length is claimed.
const PLACES: usize = 1 << 16;
/// Structures with pointers lie where no bytes are filled in: pointers stay those that were written.
const MESSAGE: usize = 3 << 16;
const BUFFERS: usize = MESSAGE + (1 << 12);

static MEMORY: LazyLock<usize> = LazyLock::new(|| vec![0u64; BYTES / 8].leak().as_mut_ptr().addr());

/// Where an argument points to.
#[derive(Debug, Clone, Copy, Arbitrary)]
enum Place {
    Null,
    /// Any alignment.
    At(u16),
}

impl Place {
    fn pointer<T>(self) -> *mut T {
        match self {
            Self::Null => null_mut(),
            Self::At(offset) => {
                std::ptr::with_exposed_provenance_mut(*MEMORY + usize::from(offset) % PLACES)
            }
        }
    }

    /// A place for a structure, of any alignment.
    fn apart<T>(self, base: usize) -> *mut T {
        match self {
            Self::Null => null_mut(),
            Self::At(offset) => {
                std::ptr::with_exposed_provenance_mut(*MEMORY + base + usize::from(offset) % 16)
            }
        }
    }
}

/// A handle of either kind, or none.
#[derive(Debug, Clone, Copy, Arbitrary)]
enum Named {
    Opened(u8),
    Made(u8),
    Any(u64),
}

#[derive(Debug, Arbitrary)]
enum Call {
    Startup(u16, Place),
    Cleanup,
    Socket(i32, i32, i32, u32),
    Udp(bool),
    BindLoopback(Named, bool),
    Bind(Named, Place, i32),
    Connect(Named, Place, i32),
    Close(Named),
    Control(Named, i32, Place),
    Ioctl(Named, u32, Place, u32, Place, u32, Place, Place),
    Timestamping(Named, Place, u32, Place),
    Fetch(Named, Place, u32, Place, u32, Place),
    SendMessage(Named, Message, u32, Place, Place),
    ReceiveMessage(Named, Message, Place, Place),
    Result(Named, Place, Place, Place),
    Send(Named, Place, i32, i32),
    SendTo(Named, Place, i32, i32, Place, i32),
    Receive(Named, Place, i32, i32),
    ReceiveFrom(Named, Place, i32, i32, Place, Place),
    SetOption(Named, i32, i32, Place, i32),
    Option(Named, i32, i32, Place, Place),
    Names(Named, Place, Place),
    Shutdown(Named, i32),
    Text(i32, Place, Place, u16),
    Capabilities(Place, Place),
    Cross(Place, Place),
    Register(Place),
    Unregister(Named),
    Adapters(u32, u32, Place, Place),
    Convert(u32, Place, Place, u16),
    Event(bool, bool),
    Signal(Named),
    Wait(Named, Place, u32),
    Counter(Place),
    Port(Named, Named, usize),
    Post(Named, u32, usize, Place),
    Dequeue(Named, Place, Place, Place),
    DequeueSeveral(Named, Place, u32, Place),
    Cancel(Named, Place),
    OverlappedResult(Named, Place, Place),
    SelectEvents(Named, Named, i32),
    NetworkEvents(Named, Named, Place),
    NamesOfInterfaces(u32, Place, Place, u16),
    Best(u32, Place, Place),
    Words(u32, u32, Place, u16),
    Fill(u16, Vec<u8>),
}

/// What a `WSAMSG` in memory says.
#[derive(Debug, Clone, Copy, Arbitrary)]
struct Message {
    at: Place,
    name: Place,
    name_length: i32,
    buffers: Place,
    count: u8,
    buffer: (u32, Place),
    control: (u32, Place),
    flags: u32,
}

impl Message {
    /// Writes it where it says, if that is anywhere.
    fn write(&self) -> *mut WsaMessage {
        let buffers: *mut WsaBuffer = self.buffers.apart(BUFFERS);
        let buffer = WsaBuffer {
            length: self.buffer.0,
            buffer: self.buffer.1.pointer(),
        };
        if !buffers.is_null() {
            for number in 0..usize::from(self.count) {
                // SAFETY: in the memory: 255 buffers are less than what follows any place.
                unsafe { buffers.wrapping_add(number).write_unaligned(buffer) };
            }
        }
        let message = WsaMessage {
            name: self.name.pointer(),
            name_length: self.name_length,
            buffers,
            buffer_count: self.count.into(),
            control: WsaBuffer {
                length: self.control.0,
                buffer: self.control.1.pointer(),
            },
            flags: self.flags,
        };
        let at: *mut WsaMessage = self.at.apart(MESSAGE);
        if !at.is_null() {
            // SAFETY: in the memory.
            unsafe { at.write_unaligned(message) };
        }
        at
    }
}

/// What the calls made so far.
#[derive(Default)]
struct Made {
    sockets: Vec<usize>,
    objects: Vec<Handle>,
}

impl Made {
    fn number(&self, named: Named) -> usize {
        let of = |index: u8, all: &[usize]| {
            all.get(usize::from(index) % all.len().max(1))
                .copied()
                .unwrap_or(0)
        };
        match named {
            Named::Opened(index) => of(index, &self.sockets),
            Named::Made(index) => {
                let objects: Vec<_> = self.objects.iter().map(|handle| handle.addr()).collect();
                of(index, &objects)
            }
            Named::Any(number) => number as usize,
        }
    }

    fn handle(&self, named: Named) -> Handle {
        std::ptr::without_provenance_mut(self.number(named))
    }
}

unsafe extern "system" fn ignore(_: *mut std::ffi::c_void) {}

fuzz_target!(|bytes: &[u8]| {
    static START: Once = Once::new();
    START.call_once(|| {
        let mut data = std::mem::MaybeUninit::uninit();
        // SAFETY: room for the structure.
        assert_eq!(unsafe { winsock::WSAStartup(0x0202, data.as_mut_ptr()) }, 0);
    });
    let mut input = Unstructured::new(bytes);
    let mut made = Made::default();
    while !input.is_empty() && made.sockets.len() < 16 {
        let Ok(call) = input.arbitrary() else { break };
        perform(&call, &mut made);
    }
    for socket in made.sockets {
        // SAFETY: takes a number.
        unsafe { winsock::closesocket(socket) };
    }
    for object in made.objects {
        // SAFETY: takes a handle.
        unsafe { system::CloseHandle(object) };
        // SAFETY: takes a handle.
        unsafe { iphlp::UnregisterInterfaceTimestampConfigChange(object) };
    }
});

/// What can be claimed of a list of NICs, whose room is really used.
fn claim(place: Place) {
    let size: *mut u32 = place.pointer();
    if !size.is_null() {
        // SAFETY: in the memory.
        let claimed = unsafe { size.read_unaligned() };
        // SAFETY: in the memory.
        unsafe { size.write_unaligned(claimed % PLACES as u32) };
    }
}

#[allow(
    clippy::too_many_lines,
    reason = "one line or two for each exported function"
)]
fn perform(call: &Call, made: &mut Made) {
    macro_rules! call {
        ($function:expr, $($argument:expr),* $(,)?) => {
            // SAFETY: each pointer is null or into memory behind which is more than the library
            // looks at; overlapped operations may use it for ever.
            unsafe { $function($($argument),*) }
        };
    }
    match *call {
        Call::Startup(version, data) => {
            // Each start wants a clean-up: that of the first one stays.
            if call!(winsock::WSAStartup, version, data.pointer()) == 0 {
                call!(winsock::WSACleanup,);
            }
        }
        Call::Cleanup => {
            call!(winsock::WSAGetLastError,);
        }
        Call::Socket(family, kind, protocol, flags) => {
            let socket = call!(
                winsock::WSASocketW,
                family % 30,
                kind % 6,
                protocol,
                null_mut(),
                0,
                flags
            );
            if socket != usize::MAX {
                made.sockets.push(socket);
            }
        }
        Call::Udp(ipv6) => {
            let socket = call!(winsock::socket, if ipv6 { 23 } else { 2 }, 2, 0);
            assert_ne!(socket, usize::MAX);
            let mut on = 1;
            assert_eq!(
                call!(
                    winsock::ioctlsocket,
                    socket,
                    0x8004_667E_u32.cast_signed(),
                    &raw mut on
                ),
                0
            );
            made.sockets.push(socket);
        }
        Call::BindLoopback(socket, ipv6) => {
            let mut name = [0u8; 28];
            name[0] = if ipv6 { 23 } else { 2 };
            if ipv6 {
                name[23] = 1;
            } else {
                name[4] = 127;
                name[7] = 1;
            }
            call!(
                winsock::bind,
                made.number(socket),
                name.as_ptr(),
                if ipv6 { 28 } else { 16 }
            );
        }
        Call::Bind(socket, name, length) => {
            call!(winsock::bind, made.number(socket), name.pointer(), length);
        }
        Call::Connect(socket, name, length) => {
            loopback_only(name);
            call!(
                winsock::connect,
                made.number(socket),
                name.pointer(),
                length
            );
        }
        Call::Close(socket) => {
            call!(winsock::closesocket, made.number(socket));
        }
        Call::Control(socket, number, argument) => {
            // 0 would make it wait.
            let argument: *mut u32 = argument.pointer();
            if !argument.is_null() {
                // SAFETY: in the memory.
                unsafe { argument.write_unaligned(1) };
            }
            call!(winsock::ioctlsocket, made.number(socket), number, argument);
        }
        Call::Ioctl(
            socket,
            number,
            input,
            input_length,
            output,
            output_length,
            bytes,
            overlapped,
        ) => {
            if number == 0x8004_667E {
                return; // may make it wait
            }
            call!(
                messages::WSAIoctl,
                made.number(socket),
                number,
                input.pointer(),
                input_length,
                output.pointer(),
                output_length,
                bytes.pointer(),
                overlapped.pointer(),
                None,
            );
        }
        Call::Timestamping(socket, config, length, bytes) => {
            let (socket, config, bytes) = (made.number(socket), config.pointer(), bytes.pointer());
            call!(
                messages::WSAIoctl,
                socket,
                0x9800_00EB,
                config,
                length,
                null_mut(),
                0,
                bytes,
                null_mut(),
                None
            );
        }
        Call::Fetch(socket, id, id_length, timestamp, timestamp_length, bytes) => {
            let (socket, number, id) = (made.number(socket), 0x9800_00EA, id.pointer());
            let (timestamp, bytes) = (timestamp.pointer(), bytes.pointer());
            call!(
                messages::WSAIoctl,
                socket,
                number,
                id,
                id_length,
                timestamp,
                timestamp_length,
                bytes,
                null_mut(),
                None
            );
        }
        Call::SendMessage(socket, message, flags, bytes, overlapped) => {
            loopback_only(message.name);
            let (socket, at) = (made.number(socket), message.write());
            call!(
                messages::WSASendMsg,
                socket,
                at,
                flags % 3,
                bytes.pointer(),
                overlapped.pointer(),
                None
            );
        }
        Call::ReceiveMessage(socket, message, bytes, overlapped) => {
            let (socket, at) = (made.number(socket), message.write());
            call!(
                messages::receive_message,
                socket,
                at,
                bytes.pointer(),
                overlapped.pointer(),
                None
            );
        }
        Call::Result(socket, overlapped, bytes, flags) => {
            let (overlapped, bytes) = (overlapped.pointer(), bytes.pointer());
            call!(
                events::WSAGetOverlappedResult,
                made.number(socket),
                overlapped,
                bytes,
                0,
                flags.pointer()
            );
        }
        Call::Send(socket, from, length, flags) => {
            call!(
                transfer::send,
                made.number(socket),
                from.pointer(),
                length,
                flags % 2
            );
        }
        Call::SendTo(socket, from, length, flags, name, name_length) => {
            loopback_only(name);
            let (from, name) = (from.pointer(), name.pointer());
            call!(
                transfer::sendto,
                made.number(socket),
                from,
                length,
                flags % 2,
                name,
                name_length
            );
        }
        Call::Receive(socket, to, length, flags) => {
            call!(
                transfer::recv,
                made.number(socket),
                to.pointer(),
                length,
                flags % 4
            );
        }
        Call::ReceiveFrom(socket, to, length, flags, name, name_length) => {
            let (to, name, name_length) = (to.pointer(), name.pointer(), name_length.pointer());
            call!(
                transfer::recvfrom,
                made.number(socket),
                to,
                length,
                flags % 4,
                name,
                name_length
            );
        }
        Call::SetOption(socket, level, name, value, length) => {
            call!(
                winsock::setsockopt,
                made.number(socket),
                level_of(level),
                name % 40,
                value.pointer(),
                length
            );
        }
        Call::Option(socket, level, name, value, length) => {
            let (value, length) = (value.pointer(), length.pointer());
            call!(
                winsock::getsockopt,
                made.number(socket),
                level_of(level),
                name % 40,
                value,
                length
            );
        }
        Call::Names(socket, name, length) => {
            call!(
                winsock::getsockname,
                made.number(socket),
                name.pointer(),
                length.pointer()
            );
            call!(
                winsock::getpeername,
                made.number(socket),
                name.pointer(),
                length.pointer()
            );
        }
        Call::Shutdown(socket, how) => {
            call!(winsock::shutdown, made.number(socket), how % 4);
        }
        Call::Text(family, from, to, length) => {
            call!(
                presentation::inet_pton,
                family % 30,
                from.pointer(),
                to.pointer()
            );
            call!(
                presentation::inet_ntop,
                family % 30,
                from.pointer(),
                to.pointer(),
                length.into()
            );
        }
        Call::Capabilities(luid, to) => {
            call!(
                iphlp::GetInterfaceActiveTimestampCapabilities,
                luid.pointer(),
                to.pointer()
            );
            call!(
                iphlp::GetInterfaceSupportedTimestampCapabilities,
                luid.pointer(),
                to.pointer()
            );
            call!(
                old::GetInterfaceCurrentTimestampCapabilities_rs5,
                luid.pointer(),
                to.pointer()
            );
        }
        Call::Cross(luid, to) => {
            call!(
                iphlp::CaptureInterfaceHardwareCrossTimestamp,
                luid.pointer(),
                to.pointer()
            );
            call!(
                old::CaptureInterfaceHardwareCrossTimestamp_rs5,
                luid.pointer(),
                to.pointer()
            );
        }
        Call::Register(to) => {
            let to: *mut Handle = to.pointer();
            if call!(
                iphlp::RegisterInterfaceTimestampConfigChange,
                Some(ignore),
                null_mut(),
                to
            ) == 0
            {
                // SAFETY: it was just written.
                made.objects.push(unsafe { to.read_unaligned() });
            }
        }
        Call::Unregister(handle) => call!(
            iphlp::UnregisterInterfaceTimestampConfigChange,
            made.handle(handle)
        ),
        Call::Adapters(family, flags, to, size) => {
            claim(size);
            call!(
                iphlp::GetAdaptersAddresses,
                family % 30,
                flags,
                null_mut(),
                to.pointer(),
                size.pointer()
            );
        }
        Call::Convert(index, one, other, length) => {
            call!(iphlp::ConvertInterfaceIndexToLuid, index % 8, one.pointer());
            call!(
                iphlp::ConvertInterfaceLuidToIndex,
                one.pointer(),
                other.pointer()
            );
            call!(
                iphlp::ConvertInterfaceLuidToAlias,
                one.pointer(),
                other.pointer(),
                length.into()
            );
            call!(
                iphlp::ConvertInterfaceAliasToLuid,
                other.pointer(),
                one.pointer()
            );
        }
        Call::Event(manual, signalled) => {
            let event = call!(
                system::CreateEventA,
                null_mut(),
                manual.into(),
                signalled.into(),
                null_mut()
            );
            made.objects.push(event);
        }
        Call::Signal(event) => {
            call!(system::SetEvent, made.handle(event));
            call!(system::ResetEvent, made.handle(event));
        }
        Call::Wait(object, objects, count) => {
            call!(system::WaitForSingleObject, made.handle(object), 0);
            call!(
                system::WaitForMultipleObjects,
                count,
                objects.pointer(),
                0,
                0
            );
            call!(
                system::WaitForMultipleObjects,
                count,
                objects.pointer(),
                1,
                0
            );
        }
        Call::Counter(to) => {
            call!(system::QueryPerformanceCounter, to.pointer());
            call!(system::QueryPerformanceFrequency, to.pointer());
        }
        Call::Port(file, existing, key) => {
            let existing = made.handle(existing);
            let port = call!(
                completion::CreateIoCompletionPort,
                made.handle(file),
                existing,
                key,
                0
            );
            if !port.is_null() && port != existing {
                made.objects.push(port);
            }
        }
        Call::Post(port, bytes, key, overlapped) => {
            let overlapped = overlapped.pointer();
            call!(
                completion::PostQueuedCompletionStatus,
                made.handle(port),
                bytes,
                key,
                overlapped
            );
        }
        Call::Dequeue(port, bytes, key, overlapped) => {
            let (bytes, key, overlapped) = (bytes.pointer(), key.pointer(), overlapped.pointer());
            call!(
                completion::GetQueuedCompletionStatus,
                made.handle(port),
                bytes,
                key,
                overlapped,
                0
            );
        }
        Call::DequeueSeveral(port, entries, count, removed) => {
            let (port, entries, removed) =
                (made.handle(port), entries.pointer(), removed.pointer());
            call!(
                completion::GetQueuedCompletionStatusEx,
                port,
                entries,
                count,
                removed,
                0,
                0
            );
        }
        Call::Cancel(file, overlapped) => {
            call!(
                completion::CancelIoEx,
                made.handle(file),
                overlapped.pointer()
            );
            call!(completion::CancelIo, made.handle(file));
        }
        Call::OverlappedResult(file, overlapped, bytes) => {
            let (overlapped, bytes) = (overlapped.pointer(), bytes.pointer());
            call!(
                completion::GetOverlappedResult,
                made.handle(file),
                overlapped,
                bytes,
                0
            );
        }
        Call::SelectEvents(socket, event, wanted) => {
            call!(
                selecting::WSAEventSelect,
                made.number(socket),
                made.handle(event),
                wanted
            );
        }
        Call::NetworkEvents(socket, event, to) => {
            let (socket, event) = (made.number(socket), made.handle(event));
            call!(selecting::WSAEnumNetworkEvents, socket, event, to.pointer());
        }
        Call::NamesOfInterfaces(index, one, other, length) => {
            call!(
                names::ConvertInterfaceLuidToNameA,
                one.pointer(),
                other.pointer(),
                length.into()
            );
            call!(
                names::ConvertInterfaceNameToLuidA,
                other.pointer(),
                one.pointer()
            );
            call!(
                names::ConvertInterfaceLuidToNameW,
                one.pointer(),
                other.pointer(),
                length.into()
            );
            call!(
                names::ConvertInterfaceNameToLuidW,
                other.pointer(),
                one.pointer()
            );
            call!(
                names::ConvertInterfaceLuidToGuid,
                one.pointer(),
                other.pointer()
            );
            call!(
                names::ConvertInterfaceGuidToLuid,
                other.pointer(),
                one.pointer()
            );
            call!(names::if_indextoname, index % 8, other.pointer());
            call!(names::if_nametoindex, other.pointer());
        }
        Call::Best(to, address, index) => {
            call!(best::GetBestInterfaceEx, address.pointer(), index.pointer());
            call!(best::GetBestInterface, to, index.pointer());
        }
        Call::Words(flags, code, to, length) => {
            // What it would allocate, nobody would give back.
            let (flags, length) = (flags & !0x100, length.into());
            let none = null_mut();
            call!(
                words::FormatMessageA,
                flags,
                none,
                code % 12_000,
                0,
                to.pointer(),
                length,
                none
            );
        }
        Call::Fill(at, ref bytes) => {
            let place: *mut u8 = Place::At(at).pointer();
            // SAFETY: in the memory, which is longer than any input.
            unsafe {
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), place, bytes.len().min(PLACES))
            };
        }
    }
}

/// A known level more often than not.
fn level_of(level: i32) -> i32 {
    [0xFFFF, 0, 41, 17, level][level.unsigned_abs() as usize % 5]
}

/// No datagram leaves this machine: what is no address stays none.
fn loopback_only(name: Place) {
    let name: *mut u8 = name.pointer();
    if name.is_null() {
        return;
    }
    // SAFETY: in the memory.
    let address = unsafe { std::slice::from_raw_parts_mut(name, 28) };
    if address[0] == 2 {
        address[4..8].copy_from_slice(&[127, 0, 0, 1]);
    } else {
        address[8..24].copy_from_slice(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    }
}
