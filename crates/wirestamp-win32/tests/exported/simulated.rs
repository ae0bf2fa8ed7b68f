//! The simulated adapters. The environment chooses them once a process: each test runs itself
//! again in a process of its own.

use crate::calls::{Room, bound, configure, counter, fetch_soon, send, start};
use std::ffi::c_void;
use std::process::Command;
use std::ptr::{null_mut, without_provenance_mut};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use wirestamp_win32::abi::iphlp::CrossTimestamp;
use wirestamp_win32::iphlp::exports::{
    CaptureInterfaceHardwareCrossTimestamp, ConvertInterfaceIndexToLuid,
    RegisterInterfaceTimestampConfigChange, UnregisterInterfaceTimestampConfigChange,
};

/// Whether this is the process for `test`; otherwise starts it, with `scenario` in a file.
fn is_alone(test: &str, scenario: &str) -> bool {
    if std::env::var_os("WIRESTAMP_SIM").is_some() {
        return true;
    }
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), scenario).expect("written");
    let program = std::env::current_exe().expect("this program");
    let name = format!("simulated::{test}");
    let run = Command::new(program)
        .args(["--exact", &name, "--nocapture"])
        .env("WIRESTAMP_SIM", file.path())
        .output();
    let output = run.expect("runs");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    false
}

fn capture(index: u32) -> CrossTimestamp {
    let (mut luid, mut taken) = (0u64, CrossTimestamp::default());
    assert_eq!(
        // SAFETY: room for the number.
        unsafe { ConvertInterfaceIndexToLuid(index, &raw mut luid) },
        0
    );
    assert_eq!(
        // SAFETY: room for the structure.
        unsafe { CaptureInterfaceHardwareCrossTimestamp(&raw const luid, &raw mut taken) },
        0
    );
    taken
}

#[test]
fn hardware_timestamps_are_raw_counts_of_the_adapter_that_made_them() {
    if !is_alone(
        "hardware_timestamps_are_raw_counts_of_the_adapter_that_made_them",
        "preset = \"windows-modern\"\n",
    ) {
        return;
    }
    start();
    let ((sender, _), (receiver, to)) = (bound([192, 0, 2, 1]), bound([192, 0, 2, 2]));
    assert_eq!((configure(sender, 2, 8), configure(receiver, 1, 0)), (0, 0));
    for id in 1..=20 {
        let (sent_after, received_after) = (capture(1_000), capture(1_001));
        assert_eq!(send(sender, &to, b"hello", Some(id)), 0);
        let mut room = Room::new(8);
        assert_eq!(room.receive(receiver), Ok(5));
        let (sent, received) = (
            fetch_soon(sender, id),
            room.timestamp().expect("a timestamp"),
        );
        let (sent_before, received_before) = (capture(1_000), capture(1_001));
        let within = |timestamp: u64, after: CrossTimestamp, before: CrossTimestamp| {
            after.hardware_clock_timestamp < timestamp
                && timestamp < before.hardware_clock_timestamp
        };
        assert!(
            within(sent, sent_after, sent_before),
            "{sent_after:?} {sent} {sent_before:?}"
        );
        assert!(
            within(received, received_after, received_before),
            "{received_after:?} {received} {received_before:?}"
        );
    }
}

#[test]
fn software_timestamps_and_cross_timestamps_are_on_the_performance_counter() {
    // The real-time clock is set back and forth meanwhile.
    let step = |number: i32| {
        let by = if number % 2 == 0 { "-100s" } else { "3s" };
        format!(
            "[[event]]\nat = \"{}us\"\naction = \"step_utc\"\nby = \"{by}\"\n",
            number * 500
        )
    };
    let steps: String = (1..200).map(step).collect();
    let software = "preset = \"i225\"\nplatform = \"windows\"\n[nic]\nhardware_transmit = \"none\"\nreceive_filters = [\"none\"]\n";
    if !is_alone(
        "software_timestamps_and_cross_timestamps_are_on_the_performance_counter",
        &format!("{software}{steps}"),
    ) {
        return;
    }
    start();
    let (socket, name) = bound([192, 0, 2, 1]);
    assert_eq!(configure(socket, 3, 8), 0);
    for id in 1..=20 {
        let before = counter();
        assert_eq!(send(socket, &name, b"hello", Some(id)), 0);
        let mut room = Room::new(8);
        assert_eq!(room.receive(socket), Ok(5));
        let (received, after) = (room.timestamp().expect("a timestamp"), counter());
        let sent = fetch_soon(socket, id);
        assert!(
            before <= sent && sent < received && received <= after,
            "{before} {sent} {received} {after}"
        );
        let cross = capture(1_000);
        assert!(after <= cross.system_timestamp1 && cross.system_timestamp2 <= counter());
    }
}

static CALLS: AtomicU32 = AtomicU32::new(0);
static INSIDE: AtomicBool = AtomicBool::new(false);

/// Counts, and takes its time.
unsafe extern "system" fn changed(context: *mut c_void) {
    INSIDE.store(true, Ordering::SeqCst);
    CALLS.fetch_add(1, Ordering::SeqCst);
    std::thread::sleep(std::time::Duration::from_millis(30));
    assert_eq!(context.addr(), 77);
    INSIDE.store(false, Ordering::SeqCst);
}

#[test]
fn unregistering_waits_for_a_call_and_none_follows() {
    let storm = "[[event]]\nat = \"{}ms\"\naction = \"storm\"\ncount = 3\n";
    let storms: String = (1..100)
        .map(|number| storm.replace("{}", &(number * 20).to_string()))
        .collect();
    let scenario = format!("preset = \"ideal\"\n{storms}");
    if !is_alone("unregistering_waits_for_a_call_and_none_follows", &scenario) {
        return;
    }
    for round in 0..5 {
        let mut handle = null_mut();
        let context = without_provenance_mut(77);
        // SAFETY: the callback takes this context, and is unregistered below.
        let registered = unsafe {
            RegisterInterfaceTimestampConfigChange(Some(changed), context, &raw mut handle)
        };
        assert_eq!(registered, 0);
        let before = CALLS.load(Ordering::SeqCst);
        while CALLS.load(Ordering::SeqCst) == before {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        // SAFETY: takes a handle.
        unsafe { UnregisterInterfaceTimestampConfigChange(handle) };
        assert!(
            !INSIDE.load(Ordering::SeqCst),
            "round {round}: a call still runs"
        );
        let after = CALLS.load(Ordering::SeqCst);
        std::thread::sleep(std::time::Duration::from_millis(60));
        assert_eq!(
            CALLS.load(Ordering::SeqCst),
            after,
            "round {round}: a call followed"
        );
    }
}
