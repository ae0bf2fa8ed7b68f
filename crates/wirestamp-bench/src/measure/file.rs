//! A trial as a file of events, and what the program `wirestamp convert` makes of it.
//! The truth stays outside the file.

use super::replay::{Answer, Record, Trial};
use crate::estimator::Converted;
use crate::world::{Moment, Polling};
use std::io::{self, Write};
use wirestamp::events::{Header, Reader, Replay, Row, Writer};
use wirestamp_core::Result;
use wirestamp_core::time::Frequency;

/// Writes a trial's readings and timestamps in the order in which they were made; a batch stands
/// where its last reading was complete. Returns when each batch was.
///
/// # Errors
/// What writing gave.
pub fn write_events(
    trial: &Trial,
    polling: Polling,
    output: impl Write,
) -> io::Result<Vec<Moment>> {
    let counter = trial.shape.counter;
    let system = u64::try_from(1_000_000_000 / trial.shape.quantum).unwrap_or_default();
    let system = Frequency::from_hertz(system).unwrap_or(Frequency::GIGAHERTZ);
    let hardware = Frequency::from_hertz(counter.hertz).filter(|_| counter.stated);
    let mut writer = Writer::new(output, Header { system, hardware })?;
    let mut sampler = trial.sampler(polling);
    let (mut readings, mut batches, mut written) = (Vec::new(), Vec::new(), 0);
    while let Some(batch) = sampler.next_batch(&mut readings) {
        while let Some(timestamp) = trial
            .timestamps
            .get(written)
            .filter(|timestamp| timestamp.at < batch.end)
        {
            writer.timestamp(timestamp.timestamp.ticks)?;
            written += 1;
        }
        readings
            .iter()
            .try_for_each(|reading| writer.cross(reading))?;
        batches.push(batch.end);
    }
    trial.timestamps[written..]
        .iter()
        .try_for_each(|timestamp| writer.timestamp(timestamp.timestamp.ticks))?;
    writer.flush()?;
    Ok(batches)
}

/// Converts a trial that was written down.
///
/// # Errors
/// If what was written can't be read.
pub fn convert_events(trial: &Trial, batches: Vec<Moment>, text: &[u8]) -> Result<Record> {
    let answers = |replay: fn(Header) -> Replay| -> Result<Vec<Answer>> {
        let reader = Reader::new("a trial", text)?;
        let mut replay = replay(reader.header());
        let mut rows = Vec::with_capacity(trial.timestamps.len());
        for event in reader {
            replay.take(event?, &mut rows);
        }
        let _ = replay.finish(&mut rows);
        Ok(trial
            .timestamps
            .iter()
            .zip(&rows)
            .map(|(timestamp, row)| Answer::new(timestamp, given(row)))
            .collect())
    };
    let (online, later) = (answers(Replay::online)?, answers(Replay::later)?);
    Ok(Record {
        online,
        later,
        batches,
        rates: Vec::new(),
    })
}

fn given(row: &Row) -> Option<Converted> {
    let estimate = row.answer.ok()?;
    let (fraction, bound) = (
        f64::from(estimate.picoseconds) / 1e3,
        estimate.bound_picoseconds as f64 / 1e3,
    );
    Some(Converted {
        whole: estimate.at,
        fraction,
        bound: Some(bound),
    })
}
