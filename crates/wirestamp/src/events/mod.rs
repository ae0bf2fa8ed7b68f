//! Event files: recorded cross timestamps and packet timestamps of a NIC, to be converted later or
//! on another system. [`Writer`] writes one, [`Reader`] reads it, [`Replay`] converts its
//! timestamps.
//!
//! The format is public and stable: text with one event per line, in the order in which they
//! occurred:
//!
//! ```text
//! #wirestamp-events 1 system_hz=1000000000 hardware_hz=125000000
//! cross,SYSTEM1,HARDWARE,SYSTEM2[,METHOD]
//! timestamp,HARDWARE
//! notify
//! replaced
//! ```
//!
//! The header comes first, after blank lines and comments at most. It names the format, its version
//! and both clocks' nominal ticks per second. `hardware_hz=0`, or no `hardware_hz`, is an unknown
//! frequency; unknown words are ignored. Blank lines and lines that begin with `#` are ignored too.
//! A line has at most 65,536 bytes. The events are:
//!
//! - `cross`: a cross timestamp, in whole ticks. METHOD is `precise`, `extended`, `basic` or
//!   `driver` (the default). Two equal system times mean a bracket of unknown width, unless the
//!   method is `precise`.
//! - `timestamp`: a packet's hardware timestamp, to be converted.
//! - `notify`: the NIC's configuration may have changed.
//! - `replaced`: all later events are of another hardware clock (a bond has failed over).
//!
//! A tick count means that the event fell within that tick. System ticks count from an arbitrary
//! start and may be negative. The hardware clock is a 64-bit counter that wraps. A cross timestamp
//! with a zero is invalid: drivers return zeros for clocks that they could not read.
//!
//! Write three batches of cross timestamps ([`CONFIRMING_BATCHES`]) after the last timestamp, at
//! least twice [`BATCH_GAP`] apart. A step or adjustment of the clock just before a timestamp is
//! visible by then, and [`Replay::confirmed`] withholds times that are not confirmed.
//!
//! ```
//! use wirestamp::events::{Reader, Replay};
//!
//! let file = "\
//! #wirestamp-events 1 system_hz=1000000000 hardware_hz=125000000
//! cross,1000000000,5000075,1000001200,extended
//! cross,2000000000,130000076,2000001195,extended
//! timestamp,130125000
//! ";
//! let mut reader = Reader::new("an example", file.as_bytes())?;
//! let mut replay = Replay::online(reader.header());
//! let mut rows = Vec::new();
//! for event in reader {
//!     replay.take(event?, &mut rows);
//! }
//! replay.finish(&mut rows);
//! let estimate = rows[0].answer.expect("two readings are enough");
//! assert!((estimate.at.nanoseconds() - 2_000_999_992).abs() < 100);
//! # Ok::<(), wirestamp::Error>(())
//! ```

mod read;
mod replay;
mod row;
mod summary;
mod waiting;
mod write;

pub use read::Reader;
pub use replay::Replay;
pub use row::Row;
pub use summary::{ConversionErrors, GenerationSummary, Summary};
pub use write::Writer;

use wirestamp_core::cross::{CrossInvalid, CrossTimestamp};
use wirestamp_core::time::{Frequency, HardwareTicks, Span};

/// The number of batches after a timestamp that show whether the clock was changed before it.
/// [`Replay::confirmed`] and [`HostClock`](crate::HostClock) wait for them; a recording should end
/// with as many.
pub const CONFIRMING_BATCHES: u32 = 3;
/// The longest gap within a batch of cross timestamps: closer ones belong to one batch, whatever is
/// between them in the file. Keep separate batches at least twice this apart.
pub const BATCH_GAP: Span = Span::from_milliseconds(1);

/// The first word of the header.
const MAGIC: &str = "#wirestamp-events";
/// The only version so far.
const VERSION: &str = "1";

/// The header of an event file: the frequencies of both clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The monotonic clock's ticks per second.
    pub system: Frequency,
    /// The hardware clock's nominal ticks per second; `None` if unknown.
    pub hardware: Option<Frequency>,
}

/// A recorded event: one line of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A cross timestamp.
    Cross(CrossTimestamp),
    /// An invalid cross timestamp: it contains a zero.
    Invalid(CrossInvalid),
    /// A packet's timestamp, to be converted.
    Timestamp(HardwareTicks),
    /// The NIC's configuration may have changed.
    Notify,
    /// Later events are of another hardware clock: a bond has failed over.
    Replaced,
}
