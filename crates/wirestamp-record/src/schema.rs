//! The tables: their columns, the meaning of each, and the version of it all.

/// Version of the tables. It changes whenever a column changes its meaning or its type, or is removed; readers reject
/// versions that they do not know.
pub const VERSION: u32 = 1;
/// Parts that the timestamps of an hour are stored in, by flow. A power of two.
pub const BUCKETS: u8 = 16;

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Parquet's INT64, encoded as DELTA_BINARY_PACKED. Times are nanoseconds.
    Integer,
    /// Parquet's BYTE_ARRAY with the logical type STRING, in a dictionary.
    Text,
}

/// One column of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub kind: Kind,
    /// Whether it may be NULL.
    pub nullable: bool,
    /// Whether its integers are few and jump about: a dictionary then takes less than DELTA_BINARY_PACKED, which stays for
    /// files in which they are many.
    pub has_few_values: bool,
    /// Its meaning, with its unit.
    pub meaning: &'static str,
}

/// One table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Table {
    /// Its name: that of its folder.
    pub name: &'static str,
    /// Whether it is stored in [`BUCKETS`] parts by flow, below the hour.
    pub by_flow: bool,
    /// The meaning of one row.
    pub meaning: &'static str,
    /// Its columns, in their order.
    pub columns: &'static [Column],
}

const fn integer(name: &'static str, meaning: &'static str) -> Column {
    Column {
        name,
        kind: Kind::Integer,
        nullable: false,
        has_few_values: false,
        meaning,
    }
}

const fn text(name: &'static str, meaning: &'static str) -> Column {
    Column {
        name,
        kind: Kind::Text,
        nullable: false,
        has_few_values: false,
        meaning,
    }
}

const fn or_null(column: Column) -> Column {
    Column {
        nullable: true,
        ..column
    }
}

const fn few(column: Column) -> Column {
    Column {
        has_few_values: true,
        ..column
    }
}

const HOST: Column = text("host", "Name of the host that recorded the row");
const INTERFACE: Column = text("interface", "Name of the network interface");

pub(crate) const TIMESTAMPS: Table = Table {
    name: "timestamps",
    by_flow: true,
    meaning: "A packet that was sent or received, with its timestamp or the reason there is none",
    columns: &[
        HOST,
        INTERFACE,
        integer(
            "flow",
            "Number of the flow, the same for both directions and on both hosts",
        ),
        integer("sequence", "Number of the packet in its flow and direction"),
        text("direction", "tx: sent, rx: received"),
        text(
            "source",
            "hardware: ticks are the NIC's; software: ticks are nanoseconds of the monotonic clock",
        ),
        or_null(integer(
            "generation",
            "Clock generation: one uninterrupted run of the NIC's clock; NULL: not known",
        )),
        or_null(integer(
            "ticks",
            "The timestamp as the clock's counter gave it; NULL: there is no timestamp",
        )),
        or_null(integer(
            "utc_minus_ticks",
            "UTC in nanoseconds since 1970 minus ticks, modulo 2^64; NULL: not converted",
        )),
        few(or_null(integer(
            "error_bound",
            "Nanoseconds: the host's UTC at the timestamp lies within this distance of the converted time, rounded up to five significant bits; NULL: not converted",
        ))),
        or_null(text(
            "reason",
            "Why there is no timestamp or why it was not converted; NULL: it was",
        )),
    ],
};

pub(crate) const CROSS: Table = Table {
    name: "cross",
    by_flow: false,
    meaning: "A cross timestamp: the NIC's clock read between two readings of the monotonic clock",
    columns: &[
        HOST,
        INTERFACE,
        integer(
            "monotonic_before",
            "Nanoseconds of the monotonic clock before the NIC's clock was read",
        ),
        integer(
            "bracket",
            "Nanoseconds from the reading before to the reading after",
        ),
        integer(
            "ticks_minus_before",
            "The NIC's ticks minus monotonic_before, modulo 2^64",
        ),
        text(
            "method",
            "How the clocks were read: the names of `wirestamp cross --json`",
        ),
    ],
};

pub(crate) const ESTIMATES: Table = Table {
    name: "estimates",
    by_flow: false,
    meaning: "The state of a clock's conversion at one time",
    columns: &[
        HOST,
        text("clock", "The clock: an interface's name for its NIC clock"),
        integer(
            "from",
            "UTC in nanoseconds since 1970: the estimate holds from here",
        ),
        integer(
            "until",
            "UTC in nanoseconds since 1970: the estimate holds until here",
        ),
        or_null(integer("generation", "Clock generation; NULL: not known")),
        or_null(integer(
            "offset",
            "Nanoseconds the clock is ahead of UTC at `from`; NULL: not known",
        )),
        or_null(integer(
            "frequency_ppt",
            "Parts per 10^12 that the clock runs fast against the monotonic clock; NULL: not known",
        )),
        or_null(integer(
            "error_bound",
            "Nanoseconds: the true offset lies within this distance of `offset`; NULL: not known",
        )),
        or_null(text("reason", "Why there is no offset; NULL: there is one")),
        or_null(integer(
            "right_servers",
            "The offset and its error bound hold if so many NTP servers are right; NULL: they depend on none, or the file is older than this column",
        )),
    ],
};

pub(crate) const PROBES: Table = Table {
    name: "probes",
    by_flow: false,
    meaning: "What the probes between two hosts showed in one window",
    columns: &[
        HOST,
        text("peer", "Name of the other host"),
        integer(
            "window_start",
            "UTC in nanoseconds since 1970, by this host's clock",
        ),
        integer("window", "Length of the window in nanoseconds"),
        or_null(integer(
            "forward",
            "Least of the peer's receive time minus this host's transmit time, in nanoseconds, each by its own clock; NULL: no probe arrived",
        )),
        or_null(integer(
            "backward",
            "Least of this host's receive time minus the peer's transmit time; NULL: no probe came back",
        )),
        or_null(integer(
            "forward_middle",
            "Median of the same differences forward",
        )),
        or_null(integer(
            "backward_middle",
            "Median of the same differences backward",
        )),
        integer("count", "Probes sent"),
    ],
};

/// Returns the tables.
pub const fn tables() -> [Table; 4] {
    [TIMESTAMPS, CROSS, ESTIMATES, PROBES]
}
