//! What packages take from the program: manual pages and completions.

use std::collections::BTreeSet;
use std::fs;
use std::process::{Command, Output};

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_wirestamp"))
        .args(arguments)
        .output()
        .expect("the program runs")
}

/// The commands that `--help` lists.
fn commands() -> BTreeSet<String> {
    let help = String::from_utf8(run(&["--help"]).stdout).expect("UTF-8");
    let list = help
        .split("Commands:\n")
        .nth(1)
        .and_then(|rest| rest.split("\n\n").next());
    let names = list
        .expect("a list")
        .lines()
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next());
    names
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_command_has_a_manual_page_with_its_examples() {
    let folder = tempfile::tempdir().expect("a folder");
    let written = run(&["manual", folder.path().to_str().expect("Unicode")]);
    assert!(written.status.success(), "{written:?}");
    let commands = commands();
    assert!(commands.len() > 10, "{commands:?}");
    for command in commands {
        let path = folder.path().join(format!("wirestamp-{command}.1"));
        let page = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        assert!(page.contains(".SH NAME"), "{command}");
        assert!(page.contains("Examples:"), "{command}");
    }
    let failed = run(&["manual", "/no/such/folder"]);
    assert_eq!(failed.status.code(), Some(1), "{failed:?}");
}

#[test]
fn each_shell_is_told_of_every_command() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let told = run(&["completions", shell]);
        assert!(told.status.success(), "{told:?}");
        let text = String::from_utf8(told.stdout).expect("UTF-8");
        for command in commands() {
            assert!(text.contains(&command), "{shell} knows no {command}");
        }
        assert!(text.contains("max-in-flight"), "{shell}");
    }
    assert_eq!(run(&["completions", "dos"]).status.code(), Some(2));
}
