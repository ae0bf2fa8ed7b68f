//! `monitor` as a program: the check of a configuration with its files, and what SIGHUP reads again.
#![cfg(all(unix, feature = "monitor"))]

use std::fs::{self, Permissions};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

fn wirestamp() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wirestamp"));
    command
        .env_remove("WIRESTAMP_SIM")
        .env_remove("JOURNAL_STREAM");
    command
}

fn check(configuration: &Path) -> Output {
    wirestamp()
        .args(["--json", "monitor", "--check", "--config"])
        .arg(configuration)
        .output()
        .expect("it runs")
}

fn write(path: &Path, text: &str, mode: u32) {
    fs::write(path, text).expect("written");
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("set");
}

/// Prometheus that asks for a full name is refused, unless the configuration has the name.
#[test]
fn the_check_warns_of_a_server_that_others_reach_and_cannot_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("m.toml");
    let warnings = |http: &str| {
        let text = format!("[http]\nlisten = '{http}\n");
        fs::write(&file, text).expect("written");
        let checked = check(&file);
        assert!(checked.status.success(), "{checked:?}");
        let said: serde_json::Value = serde_json::from_slice(&checked.stdout).expect("JSON");
        said["warnings"].as_array().expect("a list").clone()
    };
    let open = warnings("192.0.2.1:9862'\nallow_plaintext = true");
    assert_eq!(open.len(), 1);
    let said = open[0].as_str().expect("words");
    assert!(said.contains("[http] names"), "{said}");
    let named = "192.0.2.1:9862'\nallow_plaintext = true\nnames = ['db7.example.org']";
    for http in [named, "127.0.0.1:9862'"] {
        assert!(warnings(http).is_empty(), "{http}");
    }
}

#[test]
fn without_a_configuration_the_path_to_this_host_itself_is_measured() {
    let checked = wirestamp().args(["--json", "monitor", "--check"]).output();
    let checked = checked.expect("it runs");
    assert!(checked.status.success(), "{checked:?}");
    let said: serde_json::Value = serde_json::from_slice(&checked.stdout).expect("JSON");
    assert_eq!((&said["path"], &said["stamp"]), (&1.into(), &0.into()));
}

/// People say so that they mean the defaults.
#[test]
fn the_device_that_is_empty_is_an_empty_configuration() {
    let checked = check(Path::new("/dev/null"));
    assert!(checked.status.success(), "{checked:?}");
}

/// The segments of a history.
fn segments(folder: &Path) -> Vec<(std::path::PathBuf, u64)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let segments = entries.filter(|entry| entry.path().extension().is_some());
    segments
        .map(|entry| (entry.path(), entry.metadata().expect("there").len()))
        .collect()
}

/// It has the same configuration, or another port and the same folders.
#[test]
fn a_second_monitor_is_refused_and_leaves_the_first_ones_history_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, log) = (folder.path().join("m.toml"), folder.path().join("log"));
    let history = folder.path().join("history");
    let configure = |port: &str| {
        let text = format!(
            "[http]\nlisten = '127.0.0.1:{port}'\n[history]\ndirectory = '{}'\n",
            history.display()
        );
        fs::write(&file, text).expect("written");
    };
    configure("0");
    let (mut first, address) = start(&file, &log);
    let begun = Instant::now();
    while !segments(&history).iter().any(|(_, length)| *length > 0) {
        assert!(begun.elapsed() < Duration::from_secs(60), "it is written");
        std::thread::sleep(Duration::from_millis(20));
    }
    for port in [address.rsplit(':').next().expect("a port"), "0"] {
        configure(port);
        let second = wirestamp()
            .args(["--sim", "igc", "--json", "monitor", "--config"])
            .arg(&file)
            .output()
            .expect("it runs");
        assert!(!second.status.success(), "{second:?}");
        let said: serde_json::Value = serde_json::from_slice(&second.stdout).expect("JSON");
        assert_eq!(said["error"]["kind"], "busy", "{said}");
        // each that opens it begins one
        assert_eq!(segments(&history).len(), 1, "{said}");
    }
    first.kill().expect("it runs");
    first.wait().expect("it ended");
    configure("0");
    let (mut third, _) = start(&file, &log);
    third.kill().expect("it starts");
    third.wait().expect("it ended");
}

#[test]
fn the_schema_is_printed_and_needs_no_configuration() {
    let printed = wirestamp()
        .args(["monitor", "--schema"])
        .output()
        .expect("it runs");
    assert!(printed.status.success(), "{printed:?}");
    let schema: serde_json::Value = serde_json::from_slice(&printed.stdout).expect("JSON");
    assert_eq!(schema["properties"]["stamp"]["type"], "array");
}

#[test]
fn a_check_reads_keys_and_tokens_and_refuses_exposed_ones() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, token) = (folder.path().join("m.toml"), folder.path().join("token"));
    let named = token.display();
    fs::write(&file, format!("[http]\ntoken_file = '{named}'\n")).expect("written");
    let of = |output: &Output| -> serde_json::Value {
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
    };
    for (text, mode, part) in [
        ("secret", 0o644, "others than its owner"),
        ("secret", 0o660, "others than its owner"),
        ("", 0o600, "empty"),
    ] {
        write(&token, text, mode);
        let checked = check(&file);
        assert_eq!(checked.status.code(), Some(2), "{checked:?}");
        let error = &of(&checked)["error"];
        assert_eq!(error["target"], named.to_string(), "{error}");
        let cause = error["cause"].as_str().expect("a text");
        assert!(cause.contains(part), "{error}");
    }
    write(&token, "secret", 0o640);
    let checked = check(&file);
    assert!(checked.status.success(), "{checked:?}");
    assert_eq!(
        of(&checked)["files"],
        serde_json::json!([named.to_string()])
    );
    fs::remove_file(&token).expect("removed");
    assert_eq!(check(&file).status.code(), Some(2));
}

/// Asks with a token; returns the status.
fn ask(address: &str, token: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("connected");
    let request = format!(
        "GET /api/snapshot HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("answered");
    answer[9..12].to_owned()
}

fn until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn hang_up(child: &Child) {
    signal(child, "-HUP");
}

fn signal(child: &Child, which: &str) {
    let sent = Command::new("kill")
        .args([which, &child.id().to_string()])
        .status();
    assert!(sent.expect("it runs").success());
}

/// Starts a monitor of a simulation; returns where it serves.
fn start(file: &Path, log: &Path) -> (Child, String) {
    start_by(wirestamp(), file, log)
}

/// As `nohup` does.
fn start_without_hang_ups(file: &Path, log: &Path) -> (Child, String) {
    let mut shell = Command::new("sh");
    let program = env!("CARGO_BIN_EXE_wirestamp");
    shell
        .args(["-c", "trap '' HUP; exec \"$0\" \"$@\"", program])
        .env_remove("WIRESTAMP_SIM")
        .env_remove("JOURNAL_STREAM");
    start_by(shell, file, log)
}

fn start_by(mut command: Command, file: &Path, log: &Path) -> (Child, String) {
    command
        .args(["--sim", "igc", "monitor", "--config"])
        .arg(file);
    started(command, log)
}

fn started(mut command: Command, log: &Path) -> (Child, String) {
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(fs::File::create(log).expect("made"))
        .spawn()
        .expect("it starts");
    let mut line = String::new();
    let printed = child.stdout.take().expect("a pipe");
    BufReader::new(printed).read_line(&mut line).expect("read");
    let address = line.trim().rsplit("//").next().expect("an address");
    (child, address.trim_end_matches('/').to_owned())
}

/// A server of every address has the port of one that serves an address of its own. It is started with hang-ups ignored: a monitor heeds them.
#[cfg(target_os = "linux")]
#[test]
fn sighup_goes_over_to_another_address_with_the_same_port() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, log) = (folder.path().join("m.toml"), folder.path().join("log"));
    let taken = std::net::TcpListener::bind("127.0.0.2:0").expect("bound");
    let other = taken.local_addr().expect("bound");
    let free = std::net::TcpListener::bind("127.0.0.3:0").expect("bound");
    let port = free.local_addr().expect("bound").port();
    drop(free);
    let listen = |address: &str| {
        let text = format!("[http]\nlisten = \"{address}\"\nallow_plaintext = true\n");
        fs::write(&file, text).expect("written");
    };
    let answers = |address: &str| {
        let address = format!("{address}:{port}");
        TcpStream::connect(&address).is_ok() && ask(&address, "") == "200"
    };
    listen(&format!("127.0.0.1:{port}"));
    let (mut child, _) = start_without_hang_ups(&file, &log);
    assert!(answers("127.0.0.1") && !answers("127.0.0.2"));

    listen(&format!("0.0.0.0:{port}"));
    hang_up(&child);
    until("every address", || answers("127.0.0.2"));
    let logged = |part: &str| fs::read_to_string(&log).expect("read").contains(part);
    until("the reload", || logged("reloaded: "));
    assert!(!logged("not reloaded"));

    listen(&other.to_string());
    hang_up(&child);
    until("the refusal", || logged("not reloaded"));
    assert!(answers("127.0.0.2"), "the old one serves again");
    child.kill().expect("it runs");
    child.wait().expect("it ended");
}

#[test]
fn sighup_reads_a_token_again_and_an_empty_one_changes_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, token, log) = (
        folder.path().join("m.toml"),
        folder.path().join("token"),
        folder.path().join("log"),
    );
    write(&token, "first", 0o644);
    let text = format!(
        "[http]\nlisten = \"127.0.0.1:0\"\ntoken_file = '{}'\n",
        token.display()
    );
    fs::write(&file, text).expect("written");
    let (mut child, address) = start(&file, &log);
    let address = address.as_str();
    assert_eq!(ask(address, "first"), "200");
    let logged = |part: &str| fs::read_to_string(&log).expect("read").contains(part);
    assert!(
        logged("WARN") && logged("others than its owner"),
        "the exposed token"
    );

    write(&token, "second", 0o600);
    assert_eq!(ask(address, "first"), "200", "nobody asked for a reload");
    hang_up(&child);
    until("the new token", || ask(address, "second") == "200");
    assert_eq!(ask(address, "first"), "401");

    write(&token, "", 0o600);
    hang_up(&child);
    until("the refusal", || logged("not reloaded"));
    assert_eq!(ask(address, "second"), "200");
    child.kill().expect("it runs");
    child.wait().expect("it ended");
}

/// Each complete file of a folder's tables.
#[cfg(feature = "parquet")]
fn recorded(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(recorded(&path));
        } else if path.extension().is_none_or(|suffix| suffix != "lock") {
            found.push(path);
        }
    }
    found
}

#[cfg(feature = "parquet")]
#[test]
fn what_waits_is_written_after_sighup_to_another_folder_and_after_sigterm() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, log) = (folder.path().join("m.toml"), folder.path().join("log"));
    let places = ["one", "two"].map(|name| folder.path().join(name));
    let record = |place: &Path| {
        let place = place.display();
        let text = format!(
            "host = \"db7\"\n[http]\nlisten = \"127.0.0.1:0\"\n[recording]\ndirectory = '{place}'\ninterval = \"1s\"\n"
        );
        fs::write(&file, text).expect("written");
    };
    record(&places[0]);
    let (mut child, _) = start(&file, &log);
    // until a clock was estimated
    std::thread::sleep(Duration::from_secs(3));
    assert!(recorded(&places[0]).is_empty(), "the interval is not over");
    record(&places[1]);
    hang_up(&child);
    until("the first folder", || !recorded(&places[0]).is_empty());
    std::thread::sleep(Duration::from_secs(3));
    signal(&child, "-TERM");
    assert!(child.wait().expect("it ended").success());
    for place in &places {
        let files = recorded(place);
        assert!(!files.is_empty(), "{}", place.display());
        for file in files {
            let name = file.file_name().expect("a name").to_string_lossy();
            assert!(
                name.starts_with("db7-") && name.ends_with(".parquet"),
                "{name}"
            );
        }
    }
}

/// In a file system whose server answers nobody: who asks for something there waits until it is killed.
#[cfg(all(feature = "parquet", target_os = "linux"))]
#[test]
fn sigterm_waits_five_seconds_for_a_disk_that_hangs() {
    const MOUNT: &str = "exec 7<>/dev/fuse && mount -i -t fuse -o fd=7,rootmode=40000,user_id=0,group_id=0 none \"$1\" && shift && exec \"$@\"";
    let folder = tempfile::tempdir().expect("a folder");
    let (file, log) = (folder.path().join("m.toml"), folder.path().join("log"));
    let hangs = folder.path().join("hangs");
    fs::create_dir(&hangs).expect("made");
    let mounted = |program: &str| {
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", MOUNT, "sh"]);
        command
            .arg(&hangs)
            .arg(program)
            .env_remove("JOURNAL_STREAM");
        command
    };
    let may = mounted("true").output();
    let may = may.is_ok_and(|ended| ended.status.success());
    if !may && std::env::var_os("WIRESTAMP_NO_SKIP").is_none() {
        let why = "skipped: no mount namespace without privilege, or no FUSE";
        writeln!(std::io::stderr(), "{why}").expect("open");
        return;
    }
    let shown = hangs.display();
    let text = format!(
        "[http]\nlisten = \"127.0.0.1:0\"\n[history]\ndirectory = '{shown}/history'\n[recording]\ndirectory = '{shown}/recordings'\ninterval = \"1s\"\n"
    );
    fs::write(&file, text).expect("written");
    let mut command = mounted(env!("CARGO_BIN_EXE_wirestamp"));
    command
        .env_remove("WIRESTAMP_SIM")
        .args(["monitor", "--config"])
        .arg(&file);
    let (mut child, _) = started(command, &log);
    // until there are rows
    std::thread::sleep(Duration::from_secs(3));
    signal(&child, "-TERM");
    let begun = Instant::now();
    let ended = loop {
        if let Some(ended) = child.try_wait().expect("known") {
            break ended;
        }
        if begun.elapsed() > Duration::from_secs(60) {
            child.kill().expect("killed");
            panic!(
                "it does not end: {}",
                fs::read_to_string(&log).expect("read")
            );
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let took = begun.elapsed();
    assert!(ended.success(), "{ended}");
    assert!(took > Duration::from_secs(4), "it did not wait: {took:?}");
    let said = fs::read_to_string(&log).expect("read");
    for part in [
        "history ends, its last records are lost",
        "rows at most are lost",
    ] {
        assert!(said.contains(part), "{said}");
    }
}

#[cfg(not(feature = "parquet"))]
#[test]
fn recordings_are_refused_by_a_program_that_cannot_write_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("m.toml");
    fs::write(&file, "[recording]\ndirectory = \"d\"\n").expect("written");
    let checked = check(&file);
    assert_eq!(checked.status.code(), Some(2), "{checked:?}");
    let said = String::from_utf8_lossy(&checked.stdout);
    assert!(said.contains("monitor and parquet"), "{said}");
}
