//! Files without an end, wherever a user can name a file: an error at once, and no memory.
#![cfg(target_os = "linux")]

use std::process::{Command, Output};

/// In 4 GiB of addresses, which end for who reads on.
fn run(arguments: &[&str], simulation: Option<&str>) -> Output {
    let limited = "ulimit -v 4194304; ulimit -c 0; exec \"$@\"";
    let mut command = Command::new("sh");
    command
        .args(["-c", limited, "sh", env!("CARGO_BIN_EXE_wirestamp")])
        .args(arguments)
        .env_remove("WIRESTAMP_SIM");
    if let Some(simulation) = simulation {
        command.env("WIRESTAMP_SIM", simulation);
    }
    command.output().expect("it runs")
}

#[test]
fn a_file_without_an_end_is_an_error() {
    const ENDLESS: &str = "/dev/zero";
    let sim = |rest: &str| format!("--sim igc {rest} {ENDLESS}");
    let mut commands = vec![
        format!("--sim {ENDLESS} latency sim0"),
        sim("ptp sim0 --config"),
        format!("reflect --listen 127.0.0.1:0 --key-file {ENDLESS}"),
        format!("latency --peer 127.0.0.1:9 --key-file {ENDLESS}"),
        format!("convert {ENDLESS}"),
        format!("capture answers {ENDLESS}"),
        format!("capture compare {ENDLESS} {ENDLESS}"),
        format!("latency compare {ENDLESS} {ENDLESS}"),
    ];
    if cfg!(feature = "monitor") {
        commands.push(sim("monitor --config"));
        commands.push(sim("top --self --once --config"));
        commands.push(format!("top 127.0.0.1:9 --token-file {ENDLESS}"));
    }
    if cfg!(feature = "nts") {
        commands.push(format!("ntp --nts 127.0.0.1 --nts-ca {ENDLESS}"));
    }
    for command in &commands {
        let arguments: Vec<_> = command.split(' ').collect();
        let told = run(&arguments, None);
        assert_eq!(told.status.code(), Some(2), "{command}: {told:?}");
        let said = String::from_utf8_lossy(&told.stderr);
        assert!(!said.contains("out of memory"), "{command}: {said}");
    }
    let told = run(&["latency", "sim0"], Some(ENDLESS));
    assert_eq!(told.status.code(), Some(2), "{told:?}");
    let said = String::from_utf8_lossy(&told.stderr);
    assert!(!said.contains("out of memory"), "{said}");
}
