//! `top` in a real terminal (tmux): at 60, 100 and 200 columns, with keys, resizing, signals, and a monitor that goes and returns. Skipped without
//! tmux. The screens are kept in the target folder: `tmp/top-*.txt`.
#![cfg(all(target_os = "linux", feature = "monitor"))]

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const PROGRAM: &str = env!("CARGO_BIN_EXE_wirestamp");
/// So long is waited for a screen; nothing is concluded from how long it took.
const PATIENCE: Duration = Duration::from_secs(60);

/// A tmux server of this test's own, with a shell in it.
struct Screen {
    server: String,
}

impl Screen {
    /// `None` without tmux.
    fn open(test: &str, columns: u32) -> Option<Self> {
        if Command::new("tmux").arg("-V").output().is_err() {
            writeln!(
                std::io::stderr(),
                "skipped: top in a terminal: no tmux (scripts/setup installs it)"
            )
            .expect("open");
            return None;
        }
        let screen = Self {
            server: format!("wirestamp-{test}-{}", std::process::id()),
        };
        let size = [columns.to_string(), "30".to_owned()];
        screen.tmux(&[
            "new-session",
            "-d",
            "-x",
            &size[0],
            "-y",
            &size[1],
            "env -u NO_COLOR PS1='ready$ ' sh",
        ]);
        screen.await_text(&["ready$"]);
        Some(screen)
    }

    fn tmux(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("tmux");
        command
            .args(["-L", &self.server, "-f", "/dev/null"])
            .args(arguments);
        let output = command
            .env("LC_ALL", "C.UTF-8")
            .output()
            .expect("tmux runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "tmux {arguments:?}: {said}");
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    fn type_line(&self, line: &str) {
        self.tmux(&["send-keys", "-l", line]);
        self.press("Enter");
    }

    fn press(&self, key: &str) {
        self.tmux(&["send-keys", key]);
    }

    fn resize(&self, columns: u32, rows: u32) {
        self.tmux(&[
            "resize-window",
            "-x",
            &columns.to_string(),
            "-y",
            &rows.to_string(),
        ]);
    }

    fn text(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    /// The screen, once all of this is on it.
    fn await_text(&self, parts: &[&str]) -> String {
        self.await_screen(&format!("{parts:?}"), |text| {
            parts.iter().all(|part| text.contains(part))
        })
    }

    fn await_screen(&self, what: &str, is_it: impl Fn(&str) -> bool) -> String {
        let begun = Instant::now();
        loop {
            let text = self.text();
            if is_it(&text) {
                return text;
            }
            assert!(begun.elapsed() < PATIENCE, "{what} did not come:\n{text}");
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// The terminal is as the shell had it: the old screen, a line at a time, with an echo, with its cursor.
    fn is_restored(&self) {
        let flags = self.tmux(&[
            "display-message",
            "-p",
            "#{alternate_on} #{cursor_flag} #{mouse_any_flag}",
        ]);
        assert_eq!(flags.trim(), "0 1 0");
        self.type_line("stty -a; echo all of it: $?");
        let text = self.await_text(&["all of it: 0"]);
        let words: Vec<_> = text.split_whitespace().collect();
        for mode in ["icanon", "echo", "isig", "opost"] {
            assert!(words.contains(&mode), "{mode}:\n{text}");
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let mut command = Command::new("tmux");
        let _ = command.args(["-L", &self.server, "kill-server"]).output();
    }
}

fn keep(name: &str, text: &str) {
    let file = format!("{}/top-{name}.txt", env!("CARGO_TARGET_TMPDIR"));
    std::fs::write(file, text).expect("it can be written");
}

/// No line is as wide as the screen was before.
fn widest(text: &str) -> usize {
    text.lines()
        .map(|line| line.chars().count())
        .max()
        .unwrap_or(0)
}

#[test]
fn it_is_drawn_at_every_width_and_the_terminal_is_given_back() {
    let Some(screen) = Screen::open("top-keys", 60) else {
        return;
    };
    screen.type_line(&format!(
        "{PROGRAM} top --self --sim igc; echo it ended with $?"
    ));
    let text = screen.await_text(&["wirestamp top", "live", "sim0", "q: quit"]);
    keep("60", &text);
    assert!(
        !text.contains("ready$"),
        "the shell's screen is hidden:\n{text}"
    );
    screen.press("?");
    let text = screen.await_text(&["Ctrl-C", "never shown as 0"]);
    keep("60-help", &text);
    screen.resize(100, 40);
    screen.await_screen("the help at 100 columns", |text| widest(text) > 60);
    screen.press("Escape");
    let text = screen.await_text(&["clocks", "frequency", "sim0", "age"]);
    keep("100", &text);
    screen.press("Tab");
    screen.press("Enter");
    let text = screen.await_text(&["clock sim0", "UTC offset", "generation changes"]);
    keep("100-clock", &text);
    screen.resize(200, 50);
    screen.press("Enter");
    let text = screen.await_text(&["clocks", "width", "method", "events"]);
    keep("200", &text);
    screen.resize(40, 12);
    let text = screen.await_screen("the overview at 40 columns", |text| {
        widest(text) <= 40 && text.contains("offset") && text.contains("q: quit")
    });
    keep("40", &text);
    screen.resize(100, 30);
    screen.press("q");
    screen.await_text(&["it ended with 0", "ready$"]);
    screen.is_restored();
}

#[test]
fn a_signal_gives_the_terminal_back() {
    let Some(screen) = Screen::open("top-signal", 100) else {
        return;
    };
    for signal in ["TERM", "HUP", "INT"] {
        // the shell's own number becomes the program's
        let run = format!(
            "sh -c 'echo $$ >number; exec {PROGRAM} top --self --sim igc'; echo {signal} ended with $?"
        );
        screen.type_line(&format!("cd {}; clear", env!("CARGO_TARGET_TMPDIR")));
        screen.type_line(&run);
        screen.await_text(&["live", "q: quit"]);
        let file = format!("{}/number", env!("CARGO_TARGET_TMPDIR"));
        let number = std::fs::read_to_string(file).expect("it was written");
        let kill = Command::new("kill")
            .args(["-s", signal, number.trim()])
            .status();
        assert!(kill.expect("kill runs").success());
        screen.await_text(&[&format!("{signal} ended with 0"), "ready$"]);
        screen.is_restored();
    }
}

/// Whether a process lives, by its number in a file of the shell's.
fn lives(number: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{number}/cmdline"))
        .is_ok_and(|line| line.contains("top"))
}

#[test]
fn it_ends_when_its_terminal_goes_away() {
    let Some(screen) = Screen::open("top-gone", 100) else {
        return;
    };
    let file = format!("{}/gone", env!("CARGO_TARGET_TMPDIR"));
    screen.type_line(&format!(
        "sh -c 'echo $$ >{file}; exec {PROGRAM} top --self --sim igc'"
    ));
    screen.await_text(&["live", "q: quit"]);
    let number = std::fs::read_to_string(file).expect("it was written");
    assert!(lives(number.trim()));
    drop(screen);
    let begun = Instant::now();
    while lives(number.trim()) {
        assert!(begun.elapsed() < PATIENCE, "it still runs");
        thread::sleep(Duration::from_millis(50));
    }
}

/// A monitor of a port, once it listens.
fn monitor(port: u16) -> Child {
    let file = format!("{}/top-monitor.toml", env!("CARGO_TARGET_TMPDIR"));
    std::fs::write(&file, format!("http.listen = \"127.0.0.1:{port}\"\n"))
        .expect("it can be written");
    let mut command = Command::new(PROGRAM);
    command.args(["--sim", "igc", "monitor", "--config", &file]);
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().expect("it starts");
    let mut line = String::new();
    let output = child.stdout.as_mut().expect("a pipe");
    BufReader::new(output)
        .read_line(&mut line)
        .expect("it says so");
    assert!(line.contains("monitoring"), "{line}");
    child
}

fn end(mut monitor: Child) {
    monitor.kill().expect("it runs");
    monitor.wait().expect("it ended");
}

#[test]
fn a_monitor_that_ends_and_returns_is_followed() {
    let Some(screen) = Screen::open("top-monitor", 100) else {
        return;
    };
    let free = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = free.local_addr().expect("an address").port();
    drop(free);
    let first = monitor(port);
    screen.type_line(&format!(
        "{PROGRAM} top 127.0.0.1:{port} --interval 200ms; echo it ended with $?"
    ));
    screen.await_text(&["live", "sim0", &format!("http://127.0.0.1:{port}")]);
    // so that the one that follows is younger
    thread::sleep(Duration::from_secs(2));
    end(first);
    let text = screen.await_text(&["NO ANSWER, values are", "refused", "sim0"]);
    keep("no-answer", &text);
    let second = monitor(port);
    let text = screen.await_text(&["live", "the monitor restarted", "sim0"]);
    keep("restarted", &text);
    end(second);
    screen.press("q");
    screen.await_text(&["it ended with 0"]);
    screen.is_restored();
}

fn top(arguments: &[&str]) -> std::process::Output {
    let mut command = Command::new(PROGRAM);
    command.arg("top").args(arguments).stdin(Stdio::null());
    command.output().expect("it runs")
}

#[test]
fn without_a_terminal_it_says_what_to_do_instead() {
    let told = top(&["--self", "--sim", "igc"]);
    assert_eq!(told.status.code(), Some(2));
    let message = String::from_utf8(told.stderr).expect("UTF-8");
    for part in ["--once", "/api/snapshot", "wirestamp monitor"] {
        assert!(message.contains(part), "{message}");
    }
    assert!(told.stdout.is_empty());
}

/// It would print after a hundred years, or measure 3 s in spite of what was asked.
#[test]
fn once_is_not_for_ever() {
    let mut command = Command::new(PROGRAM);
    command.args(["--sim", "igc", "top", "--once", "--for", "ever"]);
    let output = command.output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("--for ever"), "{said}");
}

#[test]
fn once_prints_a_page_of_text_without_any_control_character() {
    let shown = top(&["--once", "--self", "--sim", "igc", "--for", "1s"]);
    assert_eq!(shown.status.code(), Some(0));
    let text = String::from_utf8(shown.stdout).expect("UTF-8");
    for part in [
        "clocks",
        "sim0",
        "paths of this host",
        "events",
        "interfaces",
    ] {
        assert!(text.contains(part), "{part}:\n{text}");
    }
    assert!(
        !text.contains(|c: char| c.is_control() && c != '\n'),
        "{text:?}"
    );
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
}

/// What a monitor measures without any peer: the path to this host itself, and what the kernel says of its clock.
#[test]
fn without_a_configuration_this_host_itself_is_measured() {
    let shown = top(&["--once", "--self", "--sim", "igc", "--for", "4s", "--json"]);
    let said: serde_json::Value = serde_json::from_slice(&shown.stdout).expect("JSON");
    let path = &said["paths"][0];
    let count = |name: &str| path[name].as_u64().expect("a count");
    assert!(count("received") > 0 && count("lost") == 0, "{path}");
    let clocks = said["clocks"].as_array().expect("a list");
    let names: Vec<_> = clocks
        .iter()
        .filter_map(|one| one["name"].as_str())
        .collect();
    assert!(
        names.contains(&"sim0") && names.contains(&"realtime"),
        "{names:?}"
    );
    let tasks = said["tasks"].as_array().expect("a list");
    assert!(
        tasks.iter().all(|task| task["state"] == "running"),
        "{tasks:?}"
    );
}

/// A configuration of a simulation: who is asked answers.
#[test]
fn sessions_of_a_simulation_are_answered() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("m.toml");
    let text = "[[stamp]]\npeer = \"sim1\"\n[[ntp]]\nserver = \"sim1\"\ninterval = \"1s\"\n";
    std::fs::write(&file, text).expect("written");
    let file = file.to_str().expect("Unicode");
    let shown = top(&[
        "--once", "--sim", "igc", "--for", "9s", "--config", file, "--json", "--self",
    ]);
    let said: serde_json::Value = serde_json::from_slice(&shown.stdout).expect("JSON");
    let answered = said["peers"][0]["answered"].as_u64();
    assert!(answered.is_some_and(|answered| answered > 50), "{said}");
    assert_eq!(said["ntp"]["servers"][0]["status"], "measured", "{said}");
}

#[test]
fn a_named_monitor_that_does_not_answer_is_an_error() {
    let free = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = free.local_addr().expect("an address").to_string();
    drop(free);
    let told = top(&[&address, "--once"]);
    assert_eq!(told.status.code(), Some(1));
    let message = String::from_utf8(told.stderr).expect("UTF-8");
    assert!(
        message.contains("refused") && message.contains("wirestamp top --self"),
        "{message}"
    );
    for wrong in [
        &["https://db7", "--once"][..],
        &["--csv"],
        &["db7", "--self"],
        &["--interval", "1ms", "--once"],
        &["--once", "--self", "--format", "csv"],
    ] {
        assert_eq!(top(wrong).status.code(), Some(2), "{wrong:?}");
    }
}
