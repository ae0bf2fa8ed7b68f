//! `completions`: what a shell needs to complete the command line; `complete`: the values that its script asks for.

use crate::arguments::{self, Values};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;
use crate::session::Session;
use clap::Command;
use clap_complete::Shell;
use wirestamp::{Interface, Simulation};

const BASH: &str = include_str!("completions/values.bash");
const ZSH: &str = include_str!("completions/values.zsh");
const FISH: &str = include_str!("completions/values.fish");
/// The name of an argument's value that is an interface.
const INTERFACE: &str = "IFACE";

pub(super) fn run(
    arguments: &arguments::Completions,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let mut command = arguments::command();
    let mut text = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "wirestamp", &mut text);
    let text = String::from_utf8_lossy(&text);
    let commands = with_interfaces(&command).join(" ");
    let text = match arguments.shell {
        Shell::Bash => format!("{text}{}", BASH.replace("@COMMANDS@", &commands)),
        Shell::Zsh => zsh(&text),
        Shell::Fish => format!("{text}{}", FISH.replace("@COMMANDS@", &commands)),
        _ => text.into_owned(),
    };
    output.raw(&text)?;
    Ok(Exit::Success)
}

/// The commands that take an interface.
fn with_interfaces(command: &Command) -> Vec<&str> {
    let takes = |command: &&Command| {
        let mut names = command
            .get_positionals()
            .filter_map(|it| it.get_value_names());
        names.any(|names| names.iter().any(|name| name == INTERFACE))
    };
    let commands = command.get_subcommands().filter(takes);
    commands.map(Command::get_name).collect()
}

/// Each interface and each simulation is completed by a function of ours instead of by file names.
fn zsh(text: &str) -> String {
    const FILES: &str = ":_default' \\";
    let mut out = String::new();
    for line in text.lines() {
        let spec = line.trim_start_matches(['\'', ':', '*']);
        let function = match line.strip_suffix(FILES) {
            Some(rest) if spec.starts_with("interface") => Some((rest, "_wirestamp_interfaces")),
            Some(rest) if spec.starts_with("--sim=") => Some((rest, "_wirestamp_presets")),
            _ => None,
        };
        if line == "_wirestamp() {" {
            out.push_str(ZSH);
        }
        match function {
            Some((rest, function)) => out.push_str(&format!("{rest}:{function}' \\")),
            None => out.push_str(line),
        }
        out.push('\n');
    }
    out
}

/// Whether no shell takes the name for more than a word. Linux lets a name have quotes and dollars, and bash expands the
/// words that it chooses from.
fn is_plain(name: &str) -> bool {
    let plain = |letter: char| letter.is_alphanumeric() || "_-.:@".contains(letter);
    name.chars().all(plain)
}

/// Prints the values, one a line.
pub(super) fn values(
    arguments: &arguments::Complete,
    session: &Session,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let names: Vec<String> = match arguments.values {
        Values::Presets => {
            let presets = Simulation::presets();
            presets.iter().map(|(name, _)| (*name).to_owned()).collect()
        }
        Values::Interfaces => {
            let is_asked_for =
                |word: &std::ffi::OsString| word.to_string_lossy().starts_with("--sim");
            let simulated = session.has_simulation() || arguments.words.iter().any(is_asked_for);
            let listed = Interface::list()?;
            let shown = listed
                .iter()
                .filter(|interface| simulated || !interface.description().simulated);
            let names = shown.map(|interface| interface.name().to_owned());
            names.filter(|name| is_plain(name)).collect()
        }
    };
    output.raw(&format!("{}\n", names.join("\n")))?;
    Ok(Exit::Success)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_a_shell_would_expand_are_left_out() {
        assert!(
            ["eth0", "eth0.5", "enp3s0f1np1", "veth@if3"]
                .into_iter()
                .all(is_plain)
        );
        for name in ["$(id)", "`id`", "a'b", "a;b", "Ethernet 2"] {
            assert!(!is_plain(name), "{name}");
        }
    }

    #[test]
    fn the_commands_that_take_an_interface_are_known() {
        let command = arguments::command();
        let commands = with_interfaces(&command);
        for name in ["latency", "cross", "ptp", "capture", "reflect", "doctor"] {
            assert!(commands.contains(&name), "{name}: {commands:?}");
        }
        assert!(!commands.contains(&"ntp"), "{commands:?}");
    }
}
