//! The writing of event files: everything that the reader understands. Takes no reading.

use super::{Header, MAGIC, VERSION};
use std::io::{self, Write};
use wirestamp_core::cross::CrossTimestamp;
use wirestamp_core::time::{Frequency, HardwareTicks, MonotonicTime};

const PER_SECOND: i128 = 1_000_000_000;

/// Writes events line by line.
#[derive(Debug)]
pub struct Writer<W> {
    output: W,
    system: Frequency,
}

impl<W: Write> Writer<W> {
    /// Writes the header.
    ///
    /// # Errors
    /// What writing to `output` gave; so do all the others.
    pub fn new(mut output: W, header: Header) -> io::Result<Self> {
        let hardware = header.hardware.map_or(0, Frequency::hertz);
        writeln!(
            output,
            "{MAGIC} {VERSION} system_hz={} hardware_hz={hardware}",
            header.system.hertz()
        )?;
        Ok(Self {
            output,
            system: header.system,
        })
    }

    /// Writes a cross timestamp. Its system times are written in the header's ticks: exactly, if they came
    /// from such ticks.
    ///
    /// # Errors
    /// See [`new`](Self::new).
    pub fn cross(&mut self, reading: &CrossTimestamp) -> io::Result<()> {
        let (before, after) = (
            self.ticks(reading.monotonic_before()),
            self.ticks(reading.monotonic_after()),
        );
        writeln!(
            self.output,
            "cross,{before},{},{after},{}",
            reading.hardware().raw(),
            reading.method().name()
        )
    }

    /// Writes a timestamp.
    ///
    /// # Errors
    /// See [`new`](Self::new).
    pub fn timestamp(&mut self, ticks: HardwareTicks) -> io::Result<()> {
        writeln!(self.output, "timestamp,{}", ticks.raw())
    }

    /// Writes a notification.
    ///
    /// # Errors
    /// See [`new`](Self::new).
    pub fn notify(&mut self) -> io::Result<()> {
        writeln!(self.output, "notify")
    }

    /// Writes that what follows is of another hardware clock.
    ///
    /// # Errors
    /// See [`new`](Self::new).
    pub fn replaced(&mut self) -> io::Result<()> {
        writeln!(self.output, "replaced")
    }

    /// Writes a remark for people; each of its lines becomes one of its own.
    ///
    /// # Errors
    /// See [`new`](Self::new).
    pub fn comment(&mut self, text: &str) -> io::Result<()> {
        text.lines()
            .try_for_each(|line| writeln!(self.output, "# {line}"))
    }

    /// Flushes the output.
    ///
    /// # Errors
    /// See [`new`](Self::new).
    pub fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }

    /// Returns the output, as it is: [`flush`](Self::flush) before.
    pub fn into_inner(self) -> W {
        self.output
    }

    /// The first tick that is read back as this time: reading rounds down.
    fn ticks(&self, at: MonotonicTime) -> i128 {
        let product = i128::from(at.nanoseconds()) * i128::from(self.system.hertz());
        -(-product).div_euclid(PER_SECOND)
    }
}
