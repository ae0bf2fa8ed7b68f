//! The writer of event files.

use super::{Header, MAGIC, VERSION};
use std::io::{self, Write};
use wirestamp_core::cross::CrossTimestamp;
use wirestamp_core::time::{Frequency, HardwareTicks, MonotonicTime};

const PER_SECOND: i128 = 1_000_000_000;

/// A writer of event files, line by line.
#[derive(Debug)]
pub struct Writer<W> {
    output: W,
    system: Frequency,
}

impl<W: Write> Writer<W> {
    /// Writes the header.
    ///
    /// # Errors
    /// The error of writing to `output`, as for all methods that write.
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

    /// Writes a cross timestamp. Its system times are written in the header's ticks; exactly, if
    /// they were read in such ticks.
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

    /// Writes a packet's timestamp.
    ///
    /// # Errors
    /// See [`new`](Self::new).
    pub fn timestamp(&mut self, ticks: HardwareTicks) -> io::Result<()> {
        writeln!(self.output, "timestamp,{}", ticks.raw())
    }

    /// Writes that the NIC's configuration may have changed.
    ///
    /// # Errors
    /// See [`new`](Self::new).
    pub fn notify(&mut self) -> io::Result<()> {
        writeln!(self.output, "notify")
    }

    /// Writes that later events are of another hardware clock.
    ///
    /// # Errors
    /// See [`new`](Self::new).
    pub fn replaced(&mut self) -> io::Result<()> {
        writeln!(self.output, "replaced")
    }

    /// Writes a comment, one comment line for each line of `text`.
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

    /// Returns the output without flushing it: call [`flush`](Self::flush) first.
    pub fn into_inner(self) -> W {
        self.output
    }

    /// The first tick that is read back as this time, because reading rounds down.
    fn ticks(&self, at: MonotonicTime) -> i128 {
        let product = i128::from(at.nanoseconds()) * i128::from(self.system.hertz());
        -(-product).div_euclid(PER_SECOND)
    }
}
