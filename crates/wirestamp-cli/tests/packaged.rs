//! What packages take from the program: manual pages and completions.

use std::collections::BTreeSet;
use std::fs;
use std::process::{Command, Output};

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_wirestamp"))
        .env_remove("WIRESTAMP_SIM")
        .args(arguments)
        .output()
        .expect("the program runs")
}

/// Of man-pages(7); the commands of a command stand between options and examples.
const SECTIONS: [&str; 8] = [
    "NAME",
    "SYNOPSIS",
    "DESCRIPTION",
    "OPTIONS",
    "EXAMPLES",
    "\"EXIT STATUS\"",
    "FILES",
    "\"SEE ALSO\"",
];

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
        let sections: Vec<_> = page
            .lines()
            .filter_map(|line| line.strip_prefix(".SH "))
            .filter(|section| *section != "SUBCOMMANDS")
            .collect();
        assert_eq!(sections, SECTIONS, "{command}");
        let examples = page.split(".SH EXAMPLES\n").nth(1).expect("a section");
        assert!(
            examples.contains(&format!("\nwirestamp {command}"))
                || examples.contains("\nwirestamp \\-\\-sim"),
            "{command}: {examples}"
        );
    }
    let page = fs::read_to_string(folder.path().join("wirestamp.1")).expect("a page");
    assert!(page.contains("\\fB9\\fR\nthe two runs"), "{page}");
    assert!(
        page.contains("\n\\fBwirestamp\\-latency\\fR(1),\n"),
        "{page}"
    );
    let page = fs::read_to_string(folder.path().join("wirestamp-latency.1")).expect("a page");
    assert!(page.contains(".SS \"TO ANOTHER HOST\""), "{page}");
    // an option that the short help leaves out
    assert!(
        page.contains("Largest number of datagrams in flight"),
        "{page}"
    );
    let failed = run(&["manual", "/no/such/folder"]);
    assert_eq!(failed.status.code(), Some(1), "{failed:?}");
}

#[test]
fn shells_learn_presets_and_interfaces() {
    let values = |arguments: &[&str]| {
        let printed = run(&[&["complete"], arguments].concat());
        assert!(printed.status.success(), "{printed:?}");
        let text = String::from_utf8(printed.stdout).expect("UTF-8");
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    assert!(values(&["presets"]).contains(&"igb".to_owned()));
    let own = values(&["interfaces"]);
    assert!(
        !own.is_empty() && !own.contains(&"sim0".to_owned()),
        "{own:?}"
    );
    let asked = values(&["interfaces", "--", "wirestamp", "--sim", "igb", ""]);
    assert!(asked.contains(&"sim0".to_owned()), "{asked:?}");
    assert!(own.iter().all(|name| asked.contains(name)), "{asked:?}");
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
        if ["bash", "zsh", "fish"].contains(&shell) {
            assert!(text.contains("wirestamp complete interfaces"), "{shell}");
            assert!(text.contains("wirestamp complete presets"), "{shell}");
        }
        assert!(!text.contains("@COMMANDS@"), "{shell}");
        if shell == "zsh" {
            let completed = |of: &str| text.matches(of).count();
            assert!(completed(":_wirestamp_interfaces' \\") >= 9, "{text}");
            assert!(completed(":_wirestamp_presets' \\") > 10, "{text}");
            assert!(text.contains("\n_wirestamp_interfaces() {"), "{text}");
        }
    }
    assert_eq!(run(&["completions", "dos"]).status.code(), Some(2));
}
