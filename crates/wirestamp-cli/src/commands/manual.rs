//! `manual`: the manual pages, one for the program and one for each of its commands, for packages. Sections are those of
//! man-pages(7); names, options and texts are those of the help.

use crate::arguments;
use crate::exit::{self, Exit};
use crate::failure::Failure;
use clap::{Command, CommandFactory as _};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use std::io::{self, Write as _};
use std::path::Path;
use wirestamp::{Error, ErrorKind};

pub(super) fn run(arguments: &arguments::Manual) -> Result<Exit, Failure> {
    // as it is declared: the layout of the help is no matter of a page
    let mut command = arguments::Arguments::command().disable_help_subcommand(true);
    command.build();
    write_pages(&command, &command, &arguments.folder).map_err(|error| {
        let folder = arguments.folder.display();
        Error::new(
            ErrorKind::Io,
            "write the manual pages",
            folder,
            error.to_string(),
        )
        .with_system(&error)
    })?;
    Ok(Exit::Success)
}

/// The page of a command, and those of the commands below it.
fn write_pages(program: &Command, command: &Command, folder: &Path) -> io::Result<()> {
    for inner in shown(command) {
        write_pages(program, inner, folder)?;
    }
    let manual = Man::new(in_full(command));
    let version = program.get_version().unwrap_or_default();
    let name = command
        .get_display_name()
        .unwrap_or_else(|| command.get_name());
    let mut page = Vec::new();
    // without a date: it would be that of the build
    writeln!(
        page,
        ".TH {name} 1 \"\" \"wirestamp {version}\" \"wirestamp manual\""
    )?;
    manual.render_name_section(&mut page)?;
    manual.render_synopsis_section(&mut page)?;
    manual.render_description_section(&mut page)?;
    let (explanation, examples) = arguments::help_parts(command);
    let is_program = command.get_name() == program.get_name();
    let mut text = Roff::default();
    if !is_program {
        paragraphs(&mut text, &explanation);
    }
    text.to_writer(&mut page)?;
    page.write_all(&options(&manual)?)?;
    if shown(command).next().is_some() {
        manual.render_subcommands_section(&mut page)?;
    }
    closing(program, command, &examples).to_writer(&mut page)?;
    std::fs::write(folder.join(manual.get_filename()), page)
}

/// With the help's short synopsis, and the texts of options that `-h` leaves out.
fn in_full(command: &Command) -> Command {
    let usage = command.clone().render_usage().to_string();
    command
        .clone()
        .override_usage(usage.trim_start_matches("Usage:").trim_start().to_owned())
        .mut_args(|argument| argument.hide_short_help(false))
}

fn shown(command: &Command) -> impl Iterator<Item = &Command> {
    command
        .get_subcommands()
        .filter(|inner| !inner.is_hide_set())
}

/// One section, in which the groups of options are subsections.
fn options(manual: &Man) -> io::Result<Vec<u8>> {
    let mut rendered = Vec::new();
    manual.render_options_section(&mut rendered)?;
    let rendered = String::from_utf8_lossy(&rendered);
    let mut section = String::from(".SH OPTIONS\n");
    for line in rendered.lines().filter(|line| *line != ".SH OPTIONS") {
        section.push_str(&line.replacen(".SH ", ".SS ", 1));
        section.push('\n');
    }
    Ok(section.into_bytes())
}

fn paragraphs(page: &mut Roff, text: &str) {
    for paragraph in text.split("\n\n").filter(|text| !text.is_empty()) {
        page.control("PP", []);
        for line in paragraph.lines() {
            page.text([roman(line)]);
        }
    }
}

/// The sections behind the options.
fn closing(program: &Command, command: &Command, examples: &str) -> Roff {
    let mut page = Roff::default();
    if !examples.is_empty() {
        page.control("SH", ["EXAMPLES"]);
        page.control("nf", []);
        for line in examples.lines() {
            page.text([roman(line.trim_start())]);
        }
        page.control("fi", []);
    }
    page.control("SH", ["EXIT STATUS"]);
    for (code, meaning) in exit::codes() {
        page.control("TP", []);
        page.text([bold(code)]);
        page.text([roman(meaning)]);
    }
    paragraphs(&mut page, exit::after_codes());
    page.control("SH", ["FILES"]);
    let all = |used: &str| used.is_empty();
    let this = |used: &str| used.split(' ').any(|used| used == command.get_name());
    for (path, used, meaning) in FILES {
        if all(used) || this(used) {
            page.control("TP", []);
            page.text([bold(path)]);
            page.text([roman(meaning)]);
        }
    }
    see_also(&mut page, program, command);
    page
}

fn see_also(page: &mut Roff, program: &Command, command: &Command) {
    page.control("SH", ["SEE ALSO"]);
    let name = |command: &Command| {
        let shown = command.get_display_name();
        shown.unwrap_or_else(|| command.get_name()).to_owned()
    };
    let mut others: Vec<_> = std::iter::once(program)
        .chain(shown(program))
        .map(name)
        .filter(|other| *other != name(command))
        .collect();
    let last = others.pop().unwrap_or_default();
    for other in others {
        page.text([bold(other), roman("(1),")]);
    }
    page.text([bold(last), roman("(1)")]);
}

/// Files that a command reads or writes besides those that its options name. Path, commands (none: all), meaning.
const FILES: [(&str, &str, &str); 6] = [
    (
        "/run/wirestamp/",
        "latency reflect ntp ptp capture record enable monitor top",
        "Which programs use a NIC's hardware timestamping, so that the last one restores it.",
    ),
    (
        "/run/wirestamp/, $XDG_RUNTIME_DIR/wirestamp/",
        "ptp status",
        "The sockets on which a running PTP clock answers wirestamp ptp status.",
    ),
    (
        "/etc/wirestamp/monitor.toml",
        "monitor",
        "The configuration of the service, in the package wirestamp-monitor.",
    ),
    (
        "/var/lib/wirestamp-monitor/",
        "monitor",
        "The history and the recordings of the service.",
    ),
    (
        "/usr/lib/udev/rules.d/60-wirestamp.rules",
        "",
        "Gives NICs' clocks to the group clock, whose members read them without root.",
    ),
    (
        "/usr/share/doc/wirestamp/guide/",
        "",
        "The guide: first measurements, reading the numbers, recipes.",
    ),
];
