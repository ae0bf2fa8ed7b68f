//! The parser of event files, with an error for each invalid line.

use super::{Event, Header, MAGIC, VERSION};
use std::io::{self, BufRead, Read as _};
use std::str::FromStr;
use wirestamp_core::cross::{CrossInvalid, CrossMethod, CrossTimestamp};
use wirestamp_core::time::{Frequency, HardwareTicks, MonotonicTime};
use wirestamp_core::{Error, ErrorKind, Result};

const OPERATION: &str = "read events";
const FORM: &str =
    "cross,SYSTEM1,HARDWARE,SYSTEM2[,METHOD], timestamp,HARDWARE, notify or replaced";
const HEADER: &str = "#wirestamp-events 1 system_hz=NUMBER hardware_hz=NUMBER";
const METHODS: [CrossMethod; 4] = [
    CrossMethod::Precise,
    CrossMethod::Extended,
    CrossMethod::Basic,
    CrossMethod::Driver,
];
/// The longest valid line, in bytes.
const LONGEST: usize = 1 << 16;
const PER_SECOND: i128 = 1_000_000_000;

/// A reader of event files, line by line. Every error names the line and what was expected there.
#[derive(Debug)]
pub struct Reader<R> {
    input: R,
    name: String,
    line: u64,
    text: String,
    /// Whether the rest of the previous line, which was too long, must be skipped.
    cut: bool,
    header: Header,
}

/// The fault of a line; the reader adds the line's number.
type Wrong = String;

impl<R: BufRead> Reader<R> {
    /// Creates a reader and reads the header. `name` is the file's name in error messages.
    ///
    /// # Errors
    /// `InvalidInput` if it is not an event file, or one of a later version; `Io` if it cannot be
    /// read.
    pub fn new(name: impl Into<String>, input: R) -> Result<Self> {
        let header = Header {
            system: Frequency::GIGAHERTZ,
            hardware: None,
        };
        let mut reader = Self {
            input,
            name: name.into(),
            line: 0,
            text: String::new(),
            cut: false,
            header,
        };
        loop {
            if !reader.advance()? {
                return Err(reader.wrong(format!("the file ends; expected {HEADER}")));
            }
            let text = reader.text.trim_start_matches('\u{feff}').trim();
            if let Some(rest) = text
                .strip_prefix(MAGIC)
                .filter(|rest| rest.is_empty() || rest.starts_with(' '))
            {
                reader.header = header_of(rest).map_err(|wrong| reader.wrong(wrong))?;
                return Ok(reader);
            }
            if !says_nothing(text) {
                return Err(reader.wrong(format!(
                    "expected {HEADER} before any event, found {}",
                    quoted(text)
                )));
            }
        }
    }

    /// Returns the header.
    pub fn header(&self) -> Header {
        self.header
    }

    /// Reads the next line. Returns whether there was one.
    fn advance(&mut self) -> Result<bool> {
        if std::mem::take(&mut self.cut) {
            self.input
                .skip_until(b'\n')
                .map_err(|error| self.unreadable(&error))?;
        }
        self.line += 1;
        let mut bytes = std::mem::take(&mut self.text).into_bytes();
        bytes.clear();
        let limited = (&mut self.input)
            .take(LONGEST as u64 + 1)
            .read_until(b'\n', &mut bytes);
        limited.map_err(|error| self.unreadable(&error))?;
        self.cut = bytes.len() > LONGEST && bytes.last() != Some(&b'\n');
        if self.cut {
            return Err(self.wrong(format!("the line is longer than {LONGEST} bytes")));
        }
        self.text =
            String::from_utf8(bytes).map_err(|_| self.wrong("it is no text in UTF-8".into()))?;
        Ok(!self.text.is_empty())
    }

    fn unreadable(&self, error: &io::Error) -> Error {
        Error::new(ErrorKind::Io, OPERATION, &self.name, error.to_string()).with_system(error)
    }

    fn wrong(&self, wrong: Wrong) -> Error {
        Error::new(
            ErrorKind::InvalidInput,
            OPERATION,
            format_args!("line {} of {}", self.line, self.name),
            wrong,
        )
    }
}

/// Iterates over the events until the end of the file. An invalid line is an `Err`; the iteration
/// continues after it.
impl<R: BufRead> Iterator for Reader<R> {
    type Item = Result<Event>;

    fn next(&mut self) -> Option<Result<Event>> {
        loop {
            match self.advance() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => return Some(Err(error)),
            }
            let text = self.text.trim();
            if text
                .strip_prefix(MAGIC)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
            {
                return Some(Err(self.wrong(
                    "a second header: the clocks of one file are the same throughout".into(),
                )));
            }
            if !says_nothing(text) {
                return Some(event(text, self.header.system).map_err(|wrong| self.wrong(wrong)));
            }
        }
    }
}

fn says_nothing(text: &str) -> bool {
    text.is_empty() || text.starts_with('#')
}

fn header_of(rest: &str) -> Result<Header, Wrong> {
    let mut words = rest.split_ascii_whitespace();
    match words.next() {
        Some(VERSION) => {}
        Some(other) => {
            return Err(format!(
                "expected version {VERSION} of the format, found {}",
                quoted(other)
            ));
        }
        None => return Err(format!("expected {HEADER}")),
    }
    let (mut system, mut hardware) = (None, None);
    for (name, value) in words.filter_map(|word| word.split_once('=')) {
        match name {
            "system_hz" => {
                system = Some(number::<u64>(name, "a number of ticks per second", value)?);
            }
            "hardware_hz" => {
                hardware = Some(number::<u64>(name, "a number of ticks per second", value)?);
            }
            _ => {}
        }
    }
    let system = system.ok_or_else(|| format!("expected system_hz=NUMBER in {HEADER}"))?;
    let system = Frequency::from_hertz(system)
        .ok_or("expected system_hz above 0: ticks of an unknown length are no time")?;
    Ok(Header {
        system,
        hardware: hardware.and_then(Frequency::from_hertz),
    })
}

fn event(text: &str, system: Frequency) -> Result<Event, Wrong> {
    let fields: Vec<&str> = text.split(',').map(str::trim).collect();
    match fields.as_slice() {
        ["cross", before, hardware, after] => {
            cross(before, hardware, after, CrossMethod::Driver, system)
        }
        ["cross", before, hardware, after, method] => {
            let known = METHODS.into_iter().find(|known| known.name() == *method);
            let method = known.ok_or_else(|| {
                format!(
                    "expected METHOD to be precise, extended, basic or driver, found {}",
                    quoted(method)
                )
            })?;
            cross(before, hardware, after, method, system)
        }
        ["timestamp", hardware] => Ok(Event::Timestamp(ticks(hardware)?)),
        ["notify"] => Ok(Event::Notify),
        ["replaced"] => Ok(Event::Replaced),
        ["cross", ..] => Err(format!(
            "expected cross,SYSTEM1,HARDWARE,SYSTEM2[,METHOD], found {}",
            quoted(text)
        )),
        ["timestamp", ..] => Err(format!(
            "expected timestamp,HARDWARE, found {}",
            quoted(text)
        )),
        _ => Err(format!("expected {FORM}, found {}", quoted(text))),
    }
}

fn cross(
    before: &str,
    hardware: &str,
    after: &str,
    method: CrossMethod,
    system: Frequency,
) -> Result<Event, Wrong> {
    let hardware = ticks(hardware)?;
    let (before, after) = (
        number("SYSTEM1", SIGNED, before)?,
        number("SYSTEM2", SIGNED, after)?,
    );
    let at = |name, ticks| {
        nanoseconds(ticks, system).ok_or_else(|| {
            format!("expected {name} within ±292 years of system time, found '{ticks}' ticks")
        })
    };
    match CrossTimestamp::new(
        at("SYSTEM1", before)?,
        hardware,
        at("SYSTEM2", after)?,
        method,
    ) {
        Ok(reading) => Ok(Event::Cross(reading)),
        Err(invalid @ CrossInvalid::Zero) => Ok(Event::Invalid(invalid)),
        Err(_) => Err(format!(
            "expected SYSTEM2 not to lie before SYSTEM1, found {after} after {before}"
        )),
    }
}

const SIGNED: &str = "a whole number of ticks (64 bits, signed)";
const UNSIGNED: &str = "a whole number of ticks (64 bits, not negative)";

fn ticks(text: &str) -> Result<HardwareTicks, Wrong> {
    number("HARDWARE", UNSIGNED, text).map(HardwareTicks::new)
}

fn number<T: FromStr>(name: &str, form: &str, text: &str) -> Result<T, Wrong> {
    text.parse()
        .map_err(|_| format!("expected {name} to be {form}, found {}", quoted(text)))
}

/// Converts system ticks to nanoseconds, rounded down; exact if a tick is a whole number of
/// nanoseconds.
fn nanoseconds(ticks: i64, frequency: Frequency) -> Option<MonotonicTime> {
    let product = i128::from(ticks) * PER_SECOND;
    let whole = product.div_euclid(i128::from(frequency.hertz()));
    i64::try_from(whole)
        .ok()
        .map(MonotonicTime::from_nanoseconds)
}

/// The text that was found, shortened if it is long.
fn quoted(text: &str) -> String {
    const SHOWN: usize = 60;
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("'{}…'", &text[..end]),
        None if text.is_empty() => "nothing".into(),
        None => format!("'{text}'"),
    }
}
