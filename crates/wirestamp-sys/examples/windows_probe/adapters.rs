//! The questions about NICs: the answer of each, and the notifications of changes.

use crate::call::{self, Adapter, ROOM};
use std::ffi::{CStr, c_void};
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

const QUERIES: [&CStr; 3] = [
    c"GetInterfaceSupportedTimestampCapabilities",
    c"GetInterfaceActiveTimestampCapabilities",
    c"CaptureInterfaceHardwareCrossTimestamp",
];
const REGISTER: &CStr = c"RegisterInterfaceTimestampConfigChange";
const UNREGISTER: &CStr = c"UnregisterInterfaceTimestampConfigChange";
const OLD: [&CStr; 4] = [
    c"GetInterfaceCurrentTimestampCapabilities",
    c"GetInterfaceHardwareTimestampCapabilities",
    c"NotifyIfTimestampConfigChange",
    c"CancelIfTimestampConfigChange",
];
/// Nobody has it.
const UNKNOWN: u64 = 0x0006_ffff_ff00_0000;
/// Bytes that Windows does not write keep this value.
const UNTOUCHED: u8 = 0xaa;

pub(crate) fn ask(chosen: Option<&str>) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "exported:")?;
    for name in QUERIES.iter().chain(&[REGISTER, UNREGISTER]).chain(&OLD) {
        writeln!(
            out,
            "  {}: {}",
            name.to_string_lossy(),
            if call::export(name).is_some() {
                "yes"
            } else {
                "no"
            }
        )?;
    }
    writeln!(
        out,
        "2, 5, 6. What each adapter answers; capabilities and cross timestamp are 24 bytes:"
    )?;
    for adapter in call::adapters() {
        let Adapter {
            name,
            description,
            kind,
            status,
            luid,
            ..
        } = &adapter;
        let mark = if chosen == Some(name) {
            " (chosen)"
        } else {
            ""
        };
        writeln!(
            out,
            "  {name}{mark}: {description}, type {kind}, status {status}"
        )?;
        answers(&mut out, *luid)?;
    }
    writeln!(out, "  a LUID of nobody:")?;
    answers(&mut out, UNKNOWN)?;
    older(&mut out)?;
    drop(out);
    notifications()
}

fn answers(out: &mut impl Write, luid: u64) -> io::Result<()> {
    // Where only the older interface is, its names are not these, but for the last.
    let current = call::export(QUERIES[1]).is_some();
    for name in QUERIES.iter().filter(|_| current) {
        if let Some(function) = call::export(name) {
            writeln!(
                out,
                "    {}: {}",
                name.to_string_lossy(),
                filled(function, luid, 0)
            )?;
        }
    }
    Ok(())
}

/// The result, and what was written.
fn filled(function: usize, luid: u64, version: u8) -> String {
    let mut room = [UNTOUCHED; ROOM];
    room[..24].fill(0);
    room[0] = version;
    let result = call::query(function, luid, &mut room);
    let written = room
        .iter()
        .rposition(|byte| *byte != UNTOUCHED)
        .map_or(0, |last| last + 1);
    let shown: Vec<String> = room[..written.max(24)]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("result {result}, {written} bytes: {}", shown.join(" "))
}

/// The one function that both interfaces have, with room for either structure.
fn older(out: &mut impl Write) -> io::Result<()> {
    if call::export(QUERIES[1]).is_some() {
        return writeln!(
            out,
            "7. The older interface: this Windows has the current one"
        );
    }
    let Some(function) = call::export(QUERIES[2]) else {
        return writeln!(out, "7. The older interface: this Windows has none");
    };
    writeln!(out, "7. The older interface, with room for its 32 bytes:")?;
    for adapter in call::adapters() {
        writeln!(
            out,
            "  {}: version 0: {}",
            adapter.name,
            filled(function, adapter.luid, 0)
        )?;
        writeln!(
            out,
            "  {}: version 1: {}",
            adapter.name,
            filled(function, adapter.luid, 1)
        )?;
    }
    Ok(())
}

/// Which thread each call began and ended on, in order.
static CALLS: Mutex<Vec<(u32, bool)>> = Mutex::new(Vec::new());

unsafe extern "system" fn called(_: *const c_void) {
    let note = |begins| {
        CALLS
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push((call::thread(), begins));
    };
    note(true);
    thread::sleep(Duration::from_millis(20)); // long enough to be overlapped, if that is done
    note(false);
}

fn notifications() -> io::Result<()> {
    let mut out = io::stdout().lock();
    let (Some(register), Some(unregister)) = (call::export(REGISTER), call::export(UNREGISTER))
    else {
        return writeln!(out, "3. Notifications: not exported");
    };
    let registered = [
        call::register(register, Some(called)),
        call::register(register, Some(called)),
    ];
    let (none, _) = call::register(register, None);
    let at_once = CALLS.lock().unwrap_or_else(PoisonError::into_inner).len();
    thread::sleep(Duration::from_secs(5));
    for (result, handle) in registered {
        if result == 0 {
            call::unregister(unregister, handle);
        }
    }
    let calls = std::mem::take(&mut *CALLS.lock().unwrap_or_else(PoisonError::into_inner));
    let mut threads: Vec<u32> = calls.iter().map(|(thread, _)| *thread).collect();
    threads.sort_unstable();
    threads.dedup();
    let overlapped = calls.windows(2).any(|pair| pair[0].1 && pair[1].1);
    writeln!(out, "3. Notifications, two of one callback, in 5 s:")?;
    writeln!(
        out,
        "  results {} and {}; without a callback {none}",
        registered[0].0, registered[1].0
    )?;
    writeln!(
        out,
        "  notes at once {at_once}; in all {}, on {} threads",
        calls.len(),
        threads.len()
    )?;
    writeln!(
        out,
        "  on the thread that registered: {}",
        threads.contains(&call::thread())
    )?;
    writeln!(out, "  overlapped: {overlapped}")
}
