//! The file of recorded events: what a system saw of a NIC's clock, to be converted
//! elsewhere or later. Takes no readings: it is fed with them.
//!
//! The format is public and stable. Text, a line an event, in the order in which they came:
//!
//! ```text
//! #wirestamp-events 1 system_hz=1000000000 hardware_hz=125000000
//! cross,SYSTEM1,HARDWARE,SYSTEM2[,METHOD]
//! timestamp,HARDWARE
//! notify
//! replaced
//! ```
//!
//! The first line that is neither blank nor a comment names the format, its version and both
//! clocks' nominal ticks per second; `hardware_hz=0` is an unknown frequency, as is none at all. Words in it that are
//! unknown are passed over. `cross` is a reading, in whole ticks; METHOD is `precise`,
//! `extended`, `basic` or `driver`, which is meant if none is given. Equal system times are a
//! bracket that nobody knows, unless the method is `precise`. `timestamp` is a packet's, to be
//! converted; `notify` says that the NIC's configuration may have changed, `replaced` that
//! what follows is of another hardware clock (a bond has failed over). Blank lines and
//! lines that begin with `#` say nothing. A line has at most 65,536 bytes.
//!
//! A tick count means that the event fell within that tick. System ticks count from any
//! start and may be negative; the hardware counter is one of 64 bits that wraps. A reading
//! with a zero in it is none: drivers give zeros for what they could not read.
//!
//! Write three batches of readings ([`CONFIRMING_BATCHES`]) after the last timestamp, each at least twice [`BATCH_GAP`] after the one
//! before: a clock that was stepped or adjusted just before a timestamp shows it by then, and [`Replay::confirmed`]
//! withholds times that no batches confirm.
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

/// The number of batches after a timestamp that show whether the clock was changed before it. [`Replay::confirmed`] waits
/// for them, and so does [`HostClock`](crate::HostClock); who records takes so many at the end.
pub const CONFIRMING_BATCHES: u32 = 3;
/// The longest gap within a batch: readings closer together are one batch, whatever stands between them in the file. Batches that are
/// to count as several are at least twice this apart.
pub const BATCH_GAP: Span = Span::from_milliseconds(1);

/// What the first line begins with.
const MAGIC: &str = "#wirestamp-events";
/// The only version there is.
const VERSION: &str = "1";

/// The first line of a file: the frequencies of both clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Ticks of the system clock in a second.
    pub system: Frequency,
    /// Ticks of the hardware clock in a second, nominally; `None`: unknown.
    pub hardware: Option<Frequency>,
}

/// One recorded event: a line of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A reading.
    Cross(CrossTimestamp),
    /// A reading that is none, because of a zero in it.
    Invalid(CrossInvalid),
    /// A timestamp to convert.
    Timestamp(HardwareTicks),
    /// The NIC's configuration may have changed.
    Notify,
    /// What follows is of another hardware clock: a bond has failed over.
    Replaced,
}
