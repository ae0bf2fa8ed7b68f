//! The layout of every command's help: usage, examples, arguments and options in groups, explanation. `-h` has fewer
//! examples, the common options and no explanation; `--help` has everything.

use super::{Arguments, STYLES};
use clap::{Command, CommandFactory as _};

/// What stands between the explanation and the examples in a command's text.
const EXAMPLES: &str = "Examples:\n";
/// So many examples stand in the short help.
const FEW: usize = 3;
const TEMPLATE: &str =
    "{about-with-newline}\n{usage-heading} {usage}\n\n{before-help}{all-args}{after-help}";

/// The command line, with the help of each command laid out.
pub(crate) fn command() -> Command {
    laid_out(Arguments::command())
}

fn laid_out(command: Command) -> Command {
    let (explanation, examples) = parts(&command);
    let few: Vec<_> = examples.lines().take(FEW).collect();
    let under_heading = |lines: &str| {
        let style = STYLES.get_header();
        format!("{style}Examples:{style:#}\n{lines}")
    };
    let command = command
        .help_template(TEMPLATE)
        .after_help(None::<&'static str>)
        .mut_subcommands(laid_out);
    let command = match explanation.is_empty() {
        true => command,
        false => command.after_long_help(explanation),
    };
    match examples.is_empty() {
        true => command,
        false => command
            .before_help(under_heading(&few.join("\n")))
            .before_long_help(under_heading(&examples)),
    }
}

/// The explanation and the examples of a command that is not laid out yet; each is empty where there is none.
pub(crate) fn parts(command: &Command) -> (String, String) {
    let text = command
        .get_after_help()
        .map(ToString::to_string)
        .unwrap_or_default();
    let (explanation, examples) = text.split_once(EXAMPLES).unwrap_or((&text, ""));
    (explanation.trim_end().to_owned(), examples.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of the short help at the width of a terminal: the longest of a screen that is not maximised.
    const SCREEN: usize = 50;

    fn each(command: &mut Command, check: &mut impl FnMut(&mut Command)) {
        check(command);
        for inner in command.get_subcommands_mut() {
            if inner.get_name() != "help" {
                each(inner, check);
            }
        }
    }

    fn built() -> Command {
        let mut command = command().term_width(100);
        command.build();
        command
    }

    #[test]
    fn the_short_help_fits_a_screen() {
        each(&mut built(), &mut |command| {
            let lines = command.render_help().to_string().lines().count();
            assert!(lines <= SCREEN, "{}: {lines} lines", command.get_name());
        });
    }

    #[test]
    fn examples_come_before_options_and_none_is_lost() {
        let raw = Arguments::command();
        for command in built().get_subcommands_mut() {
            let Some(raw) = raw.find_subcommand(command.get_name()) else {
                continue; // help
            };
            let (explanation, examples) = parts(raw);
            let [short, long] =
                [command.render_help(), command.render_long_help()].map(|help| help.to_string());
            assert!(long.contains(&examples), "{long}");
            for help in [&short, &long] {
                let place = |text: &str| help.find(text).unwrap_or(help.len());
                assert!(place("Examples:") <= place("Options:"), "{help}");
            }
            let Some(first) = explanation.split_whitespace().next() else {
                continue;
            };
            assert!(long.contains(&format!("\n{first}")), "{long}");
            assert!(!short.contains(&format!("\n{first} ")), "{short}");
        }
    }
}
