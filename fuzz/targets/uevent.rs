//! Uevents: what is reported is written there, as a whole field, after a header. Virtual clocks are not.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wirestamp_sys::wire::uevent::{Uevent, read};

const ACTIONS: [&str; 6] = ["add", "remove", "change", "move", "bind", "unbind"];

fuzz_target!(|input: (u8, &[u8])| {
    check(input.1);
    let action = ACTIONS[usize::from(input.0) % ACTIONS.len()];
    for device in ["x", "ptp/ptp0", "ptp/ptp0/ptp2"] {
        let mut event = format!("{action}@/devices/{device}\0").into_bytes();
        event.extend(input.1);
        check(&event);
    }
});

fn check(bytes: &[u8]) {
    let text: String = bytes.iter().map(|byte| char::from(*byte)).collect();
    let (header, fields) = text.split_once('\0').unwrap_or((&text, ""));
    let known = header
        .split_once('@')
        .is_some_and(|(action, _)| ACTIONS.contains(&action));
    let is_clock = |name: &str| name.starts_with("ptp") && name.len() > 3;
    let path: Vec<&str> = header.split('/').collect();
    let is_virtual = matches!(path[..], [.., parent, name] if is_clock(parent) && is_clock(name));
    let told: &[&str] = if is_virtual {
        &["SUBSYSTEM=net"]
    } else {
        &["SUBSYSTEM=ptp", "SUBSYSTEM=net"]
    };
    let first = fields.split('\0').find(|field| told.contains(field));
    let expected = match first {
        Some("SUBSYSTEM=ptp") if known => Some(Uevent::HardwareClock),
        Some(_) if known => Some(Uevent::Network),
        _ => None,
    };
    assert_eq!(read(bytes), expected);
}
