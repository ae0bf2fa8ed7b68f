//! The rows of each table. How they are encoded: `group`.

use crate::group::Group;
use crate::schema::{CROSS, ESTIMATES, PROBES, TIMESTAMPS, Table};
use parquet::errors::Result;
use std::sync::Arc;

/// Bits that remain of a timestamp's error bound.
const SIGNIFICANT: u32 = 5;

/// A row of one of the [`tables`](crate::tables).
pub trait Row: Sized {
    /// The table.
    const TABLE: Table;

    /// Writes each column of the rows, in the table's order.
    ///
    /// # Errors
    /// The writer's.
    fn write(group: &mut Group<'_, '_, Self>) -> Result<()>;

    /// Returns the flow that the row is stored by.
    fn flow(&self) -> i64 {
        0
    }

    /// Returns the key by which rows are sorted within a file.
    fn order(&self) -> (i64, i64, i64) {
        (0, 0, 0)
    }
}

/// Whether a packet was sent or received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Sent.
    Transmit,
    /// Received.
    Receive,
}

/// Whose clock made a timestamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The NIC's.
    Hardware,
    /// The kernel's monotonic clock.
    Software,
}

/// A row of `timestamps`: a packet with its timestamp, or the reason there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timestamp {
    /// Name of the network interface.
    pub interface: Arc<str>,
    /// Number of the flow: [`flow_of`](crate::flow_of).
    pub flow: i64,
    /// Number of the packet in its flow and direction.
    pub sequence: i64,
    /// Sent or received.
    pub direction: Direction,
    /// Whose clock made the timestamp.
    pub source: Source,
    /// Clock generation, if it is known.
    pub generation: Option<u32>,
    /// The clock's counter; `None`: there is no timestamp.
    pub ticks: Option<u64>,
    /// UTC in nanoseconds since 1970 and its error bound in nanoseconds; or why there is none, by a stable name such as
    /// `ConversionError::name`.
    pub utc: Result<(i64, u64), &'static str>,
}

/// A row of `cross`: a cross timestamp.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cross {
    /// Name of the network interface.
    pub interface: Arc<str>,
    /// Nanoseconds of the monotonic clock before the NIC's clock was read.
    pub monotonic_before: i64,
    /// The NIC's clock.
    pub ticks: u64,
    /// Nanoseconds of the monotonic clock after it was read.
    pub monotonic_after: i64,
    /// How the clocks were read.
    pub method: &'static str,
}

/// A row of `estimates`: the state of a clock's conversion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClockEstimate {
    /// The clock: an interface's name for its NIC clock.
    pub clock: Arc<str>,
    /// UTC in nanoseconds since 1970: the estimate holds from here.
    pub from: i64,
    /// UTC in nanoseconds since 1970: the estimate holds until here.
    pub until: i64,
    /// Clock generation, if it is known.
    pub generation: Option<u32>,
    /// Nanoseconds the clock is ahead of UTC at `from`, and the error bound of that; or why it is not known.
    pub offset: Result<(i64, u64), &'static str>,
    /// Parts per 10¹² that the clock runs fast against the monotonic clock, if it is known.
    pub frequency_ppt: Option<i64>,
    /// The offset and its error bound hold if so many NTP servers are right; `None`: they depend on none.
    pub right_servers: Option<u64>,
}

/// A row of `probes`: the differences of the probes between two hosts in one window, in nanoseconds, each side by its own
/// clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// Name of the other host.
    pub peer: Arc<str>,
    /// UTC in nanoseconds since 1970, by this host's clock.
    pub window_start: i64,
    /// Length of the window in nanoseconds.
    pub window: i64,
    /// Least of the peer's receive time minus this host's transmit time; `None`: no probe arrived.
    pub forward: Option<i64>,
    /// Least of this host's receive time minus the peer's transmit time; `None`: no probe came back.
    pub backward: Option<i64>,
    /// Median of the differences forward.
    pub forward_middle: Option<i64>,
    /// Median of the differences backward.
    pub backward_middle: Option<i64>,
    /// Probes sent.
    pub count: i64,
}

impl Row for Timestamp {
    const TABLE: Table = TIMESTAMPS;

    fn write(group: &mut Group<'_, '_, Self>) -> Result<()> {
        group.host()?;
        group.text(|row| Some(&row.interface))?;
        group.integer(|row| Some(row.flow))?;
        group.integer(|row| Some(row.sequence))?;
        group.text(|row| {
            Some(match row.direction {
                Direction::Transmit => "tx",
                Direction::Receive => "rx",
            })
        })?;
        group.text(|row| {
            Some(match row.source {
                Source::Hardware => "hardware",
                Source::Software => "software",
            })
        })?;
        group.integer(|row| row.generation.map(i64::from))?;
        group.integer(|row| row.ticks.map(u64::cast_signed))?;
        group.integer(|row| {
            let (utc, _) = row.utc.ok()?;
            Some(utc.wrapping_sub(row.ticks?.cast_signed()))
        })?;
        group.integer(|row| {
            row.ticks?;
            Some(bound(rounded_up(row.utc.ok()?.1)))
        })?;
        group.text(|row| match (row.ticks, row.utc) {
            (_, Err(reason)) => Some(reason),
            (None, Ok(_)) => Some("no_timestamp"),
            (Some(_), Ok(_)) => None,
        })
    }

    fn flow(&self) -> i64 {
        self.flow
    }

    /// Each direction by itself: where a request and its answer alternate, every second difference of times is long.
    fn order(&self) -> (i64, i64, i64) {
        let direction = match self.direction {
            Direction::Receive => 0,
            Direction::Transmit => 1,
        };
        (self.flow, direction, self.sequence)
    }
}

impl Row for Cross {
    const TABLE: Table = CROSS;

    fn write(group: &mut Group<'_, '_, Self>) -> Result<()> {
        group.host()?;
        group.text(|row| Some(&row.interface))?;
        group.integer(|row| Some(row.monotonic_before))?;
        group.integer(|row| Some(row.monotonic_after.wrapping_sub(row.monotonic_before)))?;
        group.integer(|row| Some(row.ticks.cast_signed().wrapping_sub(row.monotonic_before)))?;
        group.text(|row| Some(row.method))
    }
}

impl Row for ClockEstimate {
    const TABLE: Table = ESTIMATES;

    fn write(group: &mut Group<'_, '_, Self>) -> Result<()> {
        group.host()?;
        group.text(|row| Some(&row.clock))?;
        group.integer(|row| Some(row.from))?;
        group.integer(|row| Some(row.until))?;
        group.integer(|row| row.generation.map(i64::from))?;
        group.integer(|row| Some(row.offset.ok()?.0))?;
        group.integer(|row| row.frequency_ppt)?;
        group.integer(|row| Some(bound(row.offset.ok()?.1)))?;
        group.text(|row| row.offset.err())?;
        group.integer(|row| i64::try_from(row.right_servers?).ok())
    }
}

impl Row for Probe {
    const TABLE: Table = PROBES;

    fn write(group: &mut Group<'_, '_, Self>) -> Result<()> {
        group.host()?;
        group.text(|row| Some(&row.peer))?;
        group.integer(|row| Some(row.window_start))?;
        group.integer(|row| Some(row.window))?;
        group.integer(|row| row.forward)?;
        group.integer(|row| row.backward)?;
        group.integer(|row| row.forward_middle)?;
        group.integer(|row| row.backward_middle)?;
        group.integer(|row| Some(row.count))
    }
}

/// Rounds a bound up to five significant bits, by less than a sixteenth: a bound that changes with every packet would take as many
/// bytes as the timestamp itself.
fn rounded_up(nanoseconds: u64) -> u64 {
    let step = 1 << (u64::BITS - nanoseconds.leading_zeros()).saturating_sub(SIGNIFICANT);
    nanoseconds
        .checked_next_multiple_of(step)
        .unwrap_or(u64::MAX)
}

/// A bound that INT64 can't hold is as good as none; the largest is still true of every clock there is.
fn bound(nanoseconds: u64) -> i64 {
    i64::try_from(nanoseconds).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_rounded_up_by_less_than_a_sixteenth() {
        let near = |number: u64| number.saturating_sub(100)..=number.saturating_add(100);
        let powers = (0..64).flat_map(|bits| near(1 << bits));
        for exact in powers.chain(0..5_000).chain(near(u64::MAX)) {
            let rounded = rounded_up(exact);
            assert!(rounded >= exact, "{exact}: {rounded}");
            assert!(rounded - exact <= exact / 16, "{exact}: {rounded}");
            let digits = rounded >> rounded.trailing_zeros().min(63);
            assert!(digits < 32 || rounded == u64::MAX, "{exact}: {rounded}");
        }
        assert_eq!([31, 32, 33, 420].map(rounded_up), [31, 32, 34, 432]);
        assert_eq!(bound(rounded_up(u64::MAX)), i64::MAX);
    }
}
