//! Runs the examples that need no hardware. Cargo builds them with the tests.

#![cfg(target_os = "linux")]
#![expect(clippy::print_stderr, reason = "a test that is skipped says so")]

use std::env;
use std::process::Command;

/// Runs an example and returns its output; `None` if only tests were built, as for the sanitizers.
fn output_of(example: &str) -> Option<String> {
    let mut folder = env::current_exe().expect("a program");
    folder.pop();
    folder.pop();
    let program = folder.join("examples").join(example);
    if !program.exists() {
        eprintln!("skipped: {program:?} is not built: cargo build --examples");
        return None;
    }
    let output = Command::new(&program).output().expect("it runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{example}: {errors}");
    Some(String::from_utf8(output.stdout).expect("text"))
}

#[test]
fn an_existing_socket_gets_timestamps_and_is_given_back() {
    let Some(output) = output_of("adopt") else {
        return;
    };
    assert!(output.starts_with("send path "), "{output}");
    assert!(output.ends_with("9 bytes as before\n"), "{output}");
}

#[test]
#[cfg(feature = "sim")]
fn sync_messages_over_ethernet_have_timestamps_of_both_nics() {
    let Some(output) = output_of("ethernet") else {
        return;
    };
    let count = |text: &str| output.matches(text).count();
    assert_eq!((count("  left "), count("  arrived ")), (3, 3), "{output}");
    assert_eq!(count("hardware: Some"), 6, "{output}");
}

#[test]
#[cfg(feature = "tokio")]
fn the_echo_server_has_receive_timestamps() {
    let Some(output) = output_of("tokio_echo") else {
        return;
    };
    assert_eq!(output.lines().count(), 3, "{output}");
    assert!(
        output
            .lines()
            .all(|line| line.ends_with(" after it arrived")),
        "{output}"
    );
}

#[test]
fn delays_between_two_processes_are_positive() {
    let Some(output) = output_of("one_way_delay") else {
        return;
    };
    assert_eq!(output.lines().count(), 10, "{output}");
    assert!(!output.contains(": -"), "{output}");
}

#[test]
fn a_program_with_its_own_loop_has_both_timestamps_of_each_datagram() {
    let Some(output) = output_of("mio_loop") else {
        return;
    };
    assert_eq!(output.lines().count(), 10, "{output}");
    assert!(!output.contains("arrived -"), "{output}");
}

#[test]
fn a_client_has_an_offset_with_an_error_bound_that_contains_it() {
    let Some(output) = output_of("ntp_client") else {
        return;
    };
    assert_eq!(output.lines().count(), 3, "{output}");
    for line in output.lines() {
        let (offset, bound) = line
            .strip_prefix("offset ")
            .and_then(|line| line.strip_suffix(" ns"))
            .and_then(|line| line.split_once(" ns ±"))
            .unwrap_or_else(|| panic!("{line}"));
        let number = |text: &str| text.parse::<i64>().expect("a number");
        // both use the same clock: the true offset is 0
        assert!(number(offset).abs() <= number(bound), "{output}");
    }
}

#[test]
#[cfg(feature = "sim")]
fn a_nics_timestamps_are_printed_in_utc() {
    let Some(output) = output_of("phc_to_utc") else {
        return;
    };
    assert_eq!(output.lines().count(), 5, "{output}");
    // the simulated UTC begins in June 2025
    assert!(
        output
            .lines()
            .all(|line| line.contains(" are 2025-06-15T15:06:40.")),
        "{output}"
    );
}

#[test]
#[cfg(feature = "sim")]
fn each_change_is_reported_with_what_is_so_then() {
    let Some(output) = output_of("watch_changes") else {
        return;
    };
    assert!(output.starts_with("at first: sim0 is up"), "{output}");
    assert!(output.contains("link: "), "{output}");
    assert!(output.contains("the interface is gone"), "{output}");
}

#[test]
#[cfg(feature = "sim")]
fn the_deterministic_test_passes() {
    let Some(output) = output_of("simulated_test") else {
        return;
    };
    assert!(
        output.ends_with("no transmit timestamp, no answer\n"),
        "{output}"
    );
}
