//! Files without an end, wherever a user can name a file: an error at once, and no memory.
#![cfg(target_os = "linux")]

#[cfg(feature = "monitor")]
use std::path::Path;
use std::process::{Command, Output};

/// In 4 GiB of addresses and a minute, which end for who reads on.
fn run(arguments: &[&str], simulation: Option<&str>) -> Output {
    let limited = "ulimit -v 4194304; ulimit -c 0; exec timeout 60 \"$@\"";
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

/// Into a folder: a pipe into which nobody writes, a file of 1 TiB, and what is right.
#[cfg(feature = "monitor")]
fn write_files(folder: &Path) {
    use std::os::unix::fs::OpenOptionsExt as _;
    let pipe = folder.join("pipe");
    let made = Command::new("mkfifo").arg("-m600").arg(pipe).status();
    assert!(made.expect("coreutils").success());
    let mut options = std::fs::File::options();
    options.write(true).create_new(true).mode(0o600);
    let made = |name: &str| options.open(folder.join(name)).expect("made");
    made("long").set_len(1 << 40).expect("sparse");
    let pem = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    std::io::Write::write_all(&mut made("certificate"), pem.as_bytes()).expect("written");
}

#[cfg(feature = "monitor")]
#[test]
fn what_a_monitors_configuration_names_has_an_end() {
    let folder = tempfile::tempdir().expect("a folder");
    write_files(folder.path());
    let place = folder.path().display();
    let otlp = "[otlp]\nendpoint = 'http://127.0.0.1:9/v1/metrics'\ntoken_file";
    let names = [
        "[http]\nkey = '/dev/null'\ncertificate".to_owned(),
        format!("[http]\ncertificate = '{place}/certificate'\nkey"),
        "[http]\ntoken_file".to_owned(),
        "[reflector]\nlisten = ['127.0.0.1:0']\nkey_file".to_owned(),
        "[[stamp]]\npeer = '127.0.0.1:9'\nkey_file".to_owned(),
        otlp.to_owned(),
    ];
    let mut runs = Vec::new();
    for (number, bad) in ["/dev/zero", "long", "pipe"].into_iter().enumerate() {
        let bad = folder.path().join(bad).display().to_string();
        runs.push(("itself", bad.clone(), bad.clone()));
        for (place, name) in names.iter().enumerate() {
            let file = folder.path().join(format!("{number}-{place}.toml"));
            std::fs::write(&file, format!("{name} = '{bad}'\n")).expect("written");
            runs.push((name, file.display().to_string(), bad.clone()));
        }
    }
    // at once: each waits for the pipe
    let tried = |name: &str, file: &str, bad: &str| {
        let told = run(&["monitor", "--check", "--config", file], None);
        assert_eq!(told.status.code(), Some(2), "{name}: {told:?}");
        let said = String::from_utf8_lossy(&told.stderr);
        assert!(said.contains(bad), "{name}: {said}");
        assert!(!said.contains("out of memory"), "{name}: {said}");
        let why = ["not a file", "has more than", "nobody writes"];
        assert!(why.iter().any(|why| said.contains(why)), "{name}: {said}");
    };
    std::thread::scope(|scope| {
        for (name, file, bad) in &runs {
            scope.spawn(move || tried(name, file, bad));
        }
    });
}
