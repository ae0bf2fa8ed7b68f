//! Measures how fast timestamps are written and how many bytes each takes.
//!
//!     cargo run --release -p wirestamp-record --example rate [RECORDING.csv]
//!
//! Without a recording: packets of a simulated 82576, sent 50 µs apart on average. A recording is a file of `wirestamp record`; its
//! timestamps are converted as `wirestamp convert` does. For the rate, the rows are repeated until there are four million, each
//! time shifted to where the last ended; bytes are of the timestamps themselves, in all and by column. The time is this thread's
//! on the processor (Linux), conversion not included.
//!
//! Beside the bytes of three columns stands the entropy of the residues when each value is predicted from none, one or
//! two before it (the least of the three): no encoding that predicts in these ways takes less.

#![allow(clippy::print_stdout, reason = "its result")]

use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::{FileReader, SerializedFileReader};
use std::collections::BTreeMap;
use std::error::Error;
use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::time::Duration;
use wirestamp::events::{Reader, Replay};
use wirestamp::{
    Correlator, CorrelatorOptions, HardwareRequest, Interface, Source as By, Timestamping,
    TransmitOutcome,
};
use wirestamp_record::{Direction, Options, Recorder, Source, Timestamp};

const ROWS: usize = 4_000_000;
const SIMULATED: usize = 20_000;
/// UTC minus the monotonic clock, where a recording does not say.
const UTC: i64 = 1_795_285_938_000_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    let mut rows = match std::env::args().nth(1) {
        Some(recording) => recorded(Path::new(&recording))?,
        None => simulated()?,
    };
    let span = match (rows.first(), rows.last()) {
        (Some(first), Some(last)) if rows.len() > 1 => {
            let span = last
                .ticks
                .zip(first.ticks)
                .map(|(last, first)| last.wrapping_sub(first));
            span.ok_or("the first or the last packet has no timestamp")? * (rows.len() as u64)
                / (rows.len() as u64 - 1)
        }
        _ => return Err("fewer than two timestamps".into()),
    };
    let mut all = Vec::with_capacity(ROWS);
    for (number, row) in rows.iter_mut().enumerate() {
        row.sequence = number as i64;
    }
    for (number, row) in rows.iter().cycle().take(ROWS).enumerate() {
        let shift = (number / rows.len()) as u64 * span;
        all.push(Timestamp {
            sequence: number as i64,
            ticks: row.ticks.map(|ticks| ticks.wrapping_add(shift)),
            utc: row
                .utc
                .map(|(utc, bound)| (utc.wrapping_add(shift as i64), bound)),
            ..row.clone()
        });
    }
    let (took, ..) = written(all)?;
    // what repeats is compressed too well: bytes are those of what differs, without a file's fixed ones
    let (_, one, _) = written(rows[..1].to_vec())?;
    let (_, bytes, columns) = written(rows.clone())?;
    println!(
        "{:.2} million timestamps/s; {:.2} bytes each ({} timestamps, without the {one} bytes of a file with one)",
        ROWS as f64 / took.as_secs_f64() / 1e6,
        (bytes - one) as f64 / (rows.len() - 1) as f64,
        rows.len(),
    );
    let entropies = entropies(&rows);
    for (column, bytes) in columns {
        let entropy = entropies
            .iter()
            .find(|(name, _)| *name == column)
            .map(|(_, bits)| format!(", entropy {:.2}", bits / 8.0));
        println!(
            "  {column:16} {:.2} bytes each{}",
            bytes as f64 / rows.len() as f64,
            entropy.unwrap_or_default()
        );
    }
    let sum: f64 = entropies.iter().map(|(_, bits)| bits / 8.0).sum();
    println!("  entropy          {sum:.2} bytes each");
    Ok(())
}

/// Bits for each timestamp that three columns hold.
fn entropies(rows: &[Timestamp]) -> [(&'static str, f64); 3] {
    let converted = || {
        rows.iter()
            .filter_map(|row| Some((row.ticks?.cast_signed(), row.utc.ok()?)))
    };
    let ticks: Vec<_> = rows
        .iter()
        .filter_map(|row| Some(row.ticks?.cast_signed()))
        .collect();
    let apart: Vec<_> = converted()
        .map(|(ticks, (utc, _))| utc.wrapping_sub(ticks))
        .collect();
    let bounds: Vec<_> = converted()
        .map(|(_, (_, bound))| bound.next_multiple_of(step(bound)).cast_signed())
        .collect();
    [
        ("ticks", remaining(ticks)),
        ("utc_minus_ticks", remaining(apart)),
        ("error_bound", remaining(bounds)),
    ]
}

/// The entropy in bits of values, of their differences or of the differences of these: the least.
fn remaining(values: Vec<i64>) -> f64 {
    let once = differences(&values);
    let twice = differences(&once);
    [values, once, twice]
        .iter()
        .map(|values| entropy(values))
        .fold(f64::INFINITY, f64::min)
}

/// Five significant bits of a bound are stored.
fn step(bound: u64) -> u64 {
    1 << (u64::BITS - bound.leading_zeros()).saturating_sub(5)
}

fn differences(values: &[i64]) -> Vec<i64> {
    values
        .windows(2)
        .map(|pair| pair[1].wrapping_sub(pair[0]))
        .collect()
}

/// The entropy of some values, in bits. Both estimates are rather too low if there are few.
fn entropy(values: &[i64]) -> f64 {
    let mut counts = BTreeMap::<i64, usize>::new();
    for value in values {
        *counts.entry(*value).or_default() += 1;
    }
    if 2 * counts.len() > values.len() {
        return spread(values);
    }
    let share = |times: &usize| *times as f64 / values.len() as f64;
    counts
        .values()
        .map(|times| -share(times) * share(times).log2())
        .sum()
}

/// The entropy in bits of numbers that hardly ever repeat, from the spacings of their order (Vasicek 1976).
fn spread(values: &[i64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let (count, apart) = (sorted.len(), sorted.len().isqrt());
    let bits = |place: usize| {
        let (low, high) = (
            sorted[place.saturating_sub(apart)],
            sorted[(place + apart).min(count - 1)],
        );
        let gap = (high as f64 - low as f64).max(1.0);
        (gap * count as f64 / (2 * apart) as f64).log2()
    };
    (0..count).map(bits).sum::<f64>() / count as f64
}

/// Bytes of each column.
type Columns = BTreeMap<String, i64>;

/// The time on the processor that writing the rows took, and the bytes of the files and of each column.
fn written(rows: Vec<Timestamp>) -> Result<(Duration, u64, Columns), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let begun = processor_time()?;
    let mut recorder = Recorder::new(folder.path(), "host", Options::default());
    for row in rows {
        // one folder, whatever hours the repetitions cover
        recorder.push(UTC, row)?;
    }
    recorder.finish()?;
    let took = processor_time()? - begun;
    let (mut bytes, mut columns) = (0, Columns::new());
    for path in files_below(folder.path())? {
        bytes += fs::metadata(&path)?.len();
        let reader = SerializedFileReader::new(File::open(path)?)?;
        let groups = reader.metadata().row_groups();
        for column in groups.iter().flat_map(RowGroupMetaData::columns) {
            *columns.entry(column.column_path().string()).or_insert(0) += column.compressed_size();
        }
    }
    Ok((took, bytes, columns))
}

fn recorded(path: &Path) -> Result<Vec<Timestamp>, Box<dyn Error>> {
    let reader = Reader::new(
        path.display().to_string(),
        BufReader::new(fs::File::open(path)?),
    )?;
    let mut replay = Replay::online(reader.header());
    let mut converted = Vec::new();
    for event in reader {
        replay.take(event?, &mut converted);
    }
    let rows = converted.into_iter().map(|row| Timestamp {
        interface: "eth0".into(),
        flow: 1,
        sequence: 0,
        direction: Direction::Transmit,
        source: Source::Hardware,
        generation: row.generation.map(|generation| generation.0),
        ticks: Some(row.hardware.raw()),
        utc: match row.answer {
            Ok(estimate) => Ok((
                estimate.at.nanoseconds() + UTC,
                estimate.bound_picoseconds.div_ceil(1_000),
            )),
            Err(reason) => Err(reason.name()),
        },
    });
    Ok(rows.collect())
}

fn simulated() -> Result<Vec<Timestamp>, Box<dyn Error>> {
    let interface = Interface::find("sim0")?;
    let _on = interface.enable_hardware(HardwareRequest::AllPackets)?;
    let correlator: Correlator = interface.correlator(CorrelatorOptions::default())?;
    correlator.wait_until_ready(Duration::from_secs(1))?;
    let address = interface.description().addresses[0].address;
    let (socket, sink) = (
        interface.bind((address, 0).into())?,
        interface.bind((address, 0).into())?,
    );
    socket.configure(Timestamping::OFF.transmit(64).source(By::Hardware))?;
    let to = sink.local_address()?;
    let mut rows = Vec::with_capacity(SIMULATED);
    while rows.len() < SIMULATED {
        let sent = socket.send_to_timestamped(b"rate", to, Duration::from_secs(1))?;
        let TransmitOutcome::Timestamped(timestamps) = sent else {
            return Err("a timestamp is missing".into());
        };
        let timestamp = timestamps.hardware.ok_or("none by the NIC")?;
        rows.push(Timestamp {
            interface: "sim0".into(),
            flow: 1,
            sequence: 0,
            direction: Direction::Transmit,
            source: Source::Hardware,
            generation: correlator.generation().map(|generation| generation.0),
            ticks: Some(timestamp.ticks.raw()),
            utc: match correlator.to_utc(&timestamp) {
                Ok(estimate) => Ok((
                    estimate.at.value.nanoseconds(),
                    estimate.at.bound.saturating_nanoseconds().cast_unsigned(),
                )),
                Err(reason) => Err(reason.name()),
            },
        });
    }
    Ok(rows)
}

fn files_below(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => files.extend(files_below(&entry.path())?),
            false => files.push(entry.path()),
        }
    }
    Ok(files)
}

/// What this thread has had of a processor: other programs do not count.
fn processor_time() -> Result<Duration, Box<dyn Error>> {
    let text = fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanoseconds = text
        .split(' ')
        .next()
        .ok_or("nothing in schedstat")?
        .parse()?;
    Ok(Duration::from_nanos(nanoseconds))
}
