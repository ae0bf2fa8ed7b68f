//! Filters in tcpdump's language, compiled by libpcap, which is found when one is needed: a program that was built
//! without it, on a machine without it, captures all the same, and everything that has no filter works without it.
//!
//! Source: pcap-filter(7), pcap_compile(3PCAP); the structures are those of `pcap/bpf.h`.

use socket2::SockFilter;
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::sync::{Mutex, PoisonError};
use wirestamp_core::capture::LinkType;
use wirestamp_core::{Error, ErrorKind, Result};

const OPERATION: &str = "compile the capture filter";
/// What Debian, Fedora and others call it.
const NAMES: [&CStr; 3] = [c"libpcap.so.0.8", c"libpcap.so.1", c"libpcap.so"];
/// `DLT_EN10MB` and `DLT_RAW` of Linux.
const ETHERNET: c_int = 1;
const RAW: c_int = 12;
/// Instructions that the kernel takes in one filter (`BPF_MAXINSNS`).
const LONGEST: usize = 4_096;
/// Expressions that are longer are refused.
const LONGEST_EXPRESSION: usize = 65_536;
/// Older versions of libpcap compile one expression at a time.
static TURN: Mutex<()> = Mutex::new(());

/// `bpf_insn`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Instruction {
    code: u16,
    then: u8,
    otherwise: u8,
    value: u32,
}

/// `bpf_program`.
#[repr(C)]
struct Program {
    length: c_uint,
    instructions: *mut Instruction,
}

type OpenDead = unsafe extern "C" fn(c_int, c_int) -> *mut c_void;
type Compile = unsafe extern "C" fn(*mut c_void, *mut Program, *const c_char, c_int, u32) -> c_int;
type GetError = unsafe extern "C" fn(*mut c_void) -> *const c_char;
type FreeCode = unsafe extern "C" fn(*mut Program);
type Close = unsafe extern "C" fn(*mut c_void);

/// The functions of libpcap that are called here.
struct Library {
    open_dead: OpenDead,
    compile: Compile,
    get_error: GetError,
    free_code: FreeCode,
    close: Close,
}

/// What passes everything, `snap_length` bytes of it.
pub(super) fn everything(snap_length: u32) -> Vec<SockFilter> {
    vec![SockFilter::new(0x06, 0, 0, snap_length)]
}

/// What lets nothing pass.
pub(super) fn nothing() -> [SockFilter; 1] {
    [SockFilter::new(0x06, 0, 0, 0)]
}

/// Compiles `expression` for packets of this link type; `snap_length` bytes of what matches pass.
pub(super) fn compile(
    expression: &str,
    link_type: LinkType,
    snap_length: u32,
) -> Result<Vec<SockFilter>> {
    let wrong = |cause: String| {
        Error::new(
            ErrorKind::InvalidInput,
            OPERATION,
            quoted(expression),
            cause,
        )
    };
    let is_word = |word: &str| {
        expression
            .split(|c: char| !c.is_ascii_alphanumeric())
            .any(|found| found == word)
    };
    if is_word("vlan") {
        let cause = "Linux removes VLAN tags before a filter sees the packet";
        return Err(
            wrong(cause.into()).with_remedy("capture on the VLAN's interface, or without 'vlan'")
        );
    }
    if expression.len() > LONGEST_EXPRESSION {
        return Err(wrong(format!("is longer than {LONGEST_EXPRESSION} bytes")));
    }
    let text = CString::new(expression).map_err(|_| wrong("has a zero byte".into()))?;
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let library = Library::load().ok_or_else(|| {
        Error::new(
            ErrorKind::NotSupported,
            OPERATION,
            quoted(expression),
            "libpcap is not installed",
        )
        .with_remedy("install it (Debian: libpcap0.8), or capture without a filter")
    })?;
    let kind = match link_type {
        LinkType::Ip => RAW,
        _ => ETHERNET,
    };
    let snap_length = c_int::try_from(snap_length).unwrap_or(c_int::MAX);
    // SAFETY: takes plain numbers.
    let handle = unsafe { (library.open_dead)(kind, snap_length) };
    if handle.is_null() {
        return Err(wrong("libpcap has no memory".into()));
    }
    let compiled = library.compile(handle, &text);
    // SAFETY: the handle is open, and not used any more.
    unsafe { (library.close)(handle) };
    let program = compiled.map_err(wrong)?;
    if program.len() > LONGEST {
        return Err(wrong(format!(
            "needs {} instructions; the kernel takes {LONGEST}",
            program.len()
        )));
    }
    Ok(program)
}

/// As messages show it.
fn quoted(expression: &str) -> String {
    format!("'{expression}'")
}

impl Library {
    fn load() -> Option<Self> {
        let library = NAMES.iter().find_map(|name| {
            // SAFETY: the name is a C string; what libpcap does when it is loaded is sound.
            let found = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
            (!found.is_null()).then_some(found)
        })?;
        // It stays loaded: the functions below are used as long as the process lives.
        let symbol = |name: &CStr| {
            // SAFETY: the handle is of a library that stays loaded, the name a C string.
            let found = unsafe { libc::dlsym(library, name.as_ptr()) };
            (!found.is_null()).then_some(found)
        };
        // SAFETY: pcap/pcap.h declares this function so.
        let open_dead =
            unsafe { std::mem::transmute::<*mut c_void, OpenDead>(symbol(c"pcap_open_dead")?) };
        // SAFETY: likewise.
        let compile =
            unsafe { std::mem::transmute::<*mut c_void, Compile>(symbol(c"pcap_compile")?) };
        // SAFETY: likewise.
        let get_error =
            unsafe { std::mem::transmute::<*mut c_void, GetError>(symbol(c"pcap_geterr")?) };
        // SAFETY: likewise.
        let free_code =
            unsafe { std::mem::transmute::<*mut c_void, FreeCode>(symbol(c"pcap_freecode")?) };
        // SAFETY: likewise.
        let close = unsafe { std::mem::transmute::<*mut c_void, Close>(symbol(c"pcap_close")?) };
        Some(Self {
            open_dead,
            compile,
            get_error,
            free_code,
            close,
        })
    }

    /// The program, or libpcap's own words.
    fn compile(&self, handle: *mut c_void, text: &CStr) -> Result<Vec<SockFilter>, String> {
        const OPTIMIZE: c_int = 1;
        const NETMASK_UNKNOWN: u32 = u32::MAX;
        let mut program = Program {
            length: 0,
            instructions: std::ptr::null_mut(),
        };
        // SAFETY: the handle is open; program and text outlive the call.
        let answer = unsafe {
            (self.compile)(
                handle,
                &raw mut program,
                text.as_ptr(),
                OPTIMIZE,
                NETMASK_UNKNOWN,
            )
        };
        if answer != 0 {
            // SAFETY: the handle is open.
            let message = unsafe { (self.get_error)(handle) };
            // SAFETY: it is a C string within the handle, which is open until this is copied.
            let message = unsafe { CStr::from_ptr(message) };
            return Err(message.to_string_lossy().into_owned());
        }
        let made = if program.instructions.is_null() {
            Vec::new()
        } else {
            // SAFETY: libpcap has just made so many instructions there, and frees them below.
            let all = unsafe {
                std::slice::from_raw_parts(program.instructions, program.length as usize)
            };
            all.iter()
                .map(|one| SockFilter::new(one.code, one.then, one.otherwise, one.value))
                .collect()
        };
        // SAFETY: libpcap made the program, and nothing refers to it any more.
        unsafe { (self.free_code)(&raw mut program) };
        Ok(made)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(expression: &str) -> Error {
        compile(expression, LinkType::Ethernet, 100).expect_err(expression)
    }

    #[test]
    fn libpcap_compiles_what_it_understands_and_says_what_it_does_not() {
        if Library::load().is_none() {
            assert_eq!(refused("udp").kind(), ErrorKind::NotSupported);
            return;
        }
        let ethernet = compile("udp port 319", LinkType::Ethernet, 100).expect("compiles");
        let ip = compile("udp port 319", LinkType::Ip, 100).expect("compiles");
        assert!(ethernet.len() > 4 && ip.len() > 4);
        let text = |program: &[SockFilter]| format!("{program:?}");
        assert_ne!(text(&ethernet), text(&ip), "the headers differ");
        let error = refused("udp prt 319");
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.to_string().contains("syntax error"), "{error}");
    }

    #[test]
    fn a_filter_that_would_match_nothing_is_refused() {
        let error = refused("vlan 5 and udp");
        assert!(error.to_string().contains("removes VLAN tags"), "{error}");
    }
}
