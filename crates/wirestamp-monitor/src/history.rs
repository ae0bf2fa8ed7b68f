//! The history on disk, for the last hours: the delays of each packet, offsets and events.
//!
//! A folder of segments (`00000001.journal`, …), each a row of blocks: length (u32), CRC-32 of the block (u32), both
//! little-endian, and the block: the [`Record`]s of a second, whose numbers are written as differences. Blocks are
//! written and synced each second; the oldest segments are removed before a new one begins. [`read`] reads the folder
//! of a monitor that runs, or that was killed.

mod bins;
mod block;
mod journal;
mod question;
mod reader;
mod record;
mod series;
mod walk;
mod writer;

pub use journal::{Journal, read};
pub(crate) use question::Question;
pub(crate) use reader::Reader;
pub use record::Record;

/// The JSON Schema of the answer of `/api/history`.
#[cfg(feature = "schema")]
#[doc(hidden)]
pub fn schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    <bins::Answer as schemars::JsonSchema>::json_schema(generator)
}
pub(crate) use writer::Writer;
