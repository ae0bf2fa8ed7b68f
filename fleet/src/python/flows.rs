//! `Packets` as a Python class: columns of timestamps go in, columns of flows come out.

use super::{Column, NULL, bytes, column};
use crate::delays::{self, Timestamp};
use pyo3::exceptions::{PyOverflowError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Timestamps of some flows, from several files.
#[pyclass]
pub(super) struct Packets(delays::Packets);

#[pymethods]
impl Packets {
    /// Room for so many.
    #[new]
    fn new(timestamps: usize) -> Self {
        Self(delays::Packets::with_capacity(timestamps))
    }

    /// Takes rows. `columns`: flow, sequence, ticks, utc_minus_ticks, error_bound, of 64 bits. `hosts` and `directions` are places in `names`,
    /// which has the number of each host, and in `sides`: 0 for sent, 1 for received, others are left out. So are
    /// flows below `first` and above `last`, and what is no time.
    #[expect(clippy::too_many_arguments, reason = "two dictionaries and a range")]
    fn add(
        &mut self,
        python: Python<'_>,
        columns: Vec<Column<'_>>,
        hosts: Column<'_>,
        names: Vec<u32>,
        directions: Column<'_>,
        sides: Vec<u8>,
        first: i64,
        last: i64,
    ) -> PyResult<()> {
        let columns = columns
            .iter()
            .map(|values| column::<i64>(python, values))
            .collect::<PyResult<Vec<_>>>()?;
        let [flow, sequence, ticks, utc_minus_ticks, error_bound] = columns.as_slice() else {
            return Err(PyValueError::new_err("timestamps have five columns"));
        };
        let hosts = column::<i32>(python, &hosts)?;
        let directions = column::<i32>(python, &directions)?;
        let count = flow.len();
        if columns.iter().any(|column| column.len() != count)
            || [hosts.len(), directions.len()] != [count; 2]
        {
            return Err(PyValueError::new_err("the columns differ in length"));
        }
        let unknown = || PyValueError::new_err("a place outside of its dictionary");
        for row in 0..count {
            let utc = ticks[row].wrapping_add(utc_minus_ticks[row]);
            let number = flow[row];
            if utc < 0 || number < first || number > last {
                continue;
            }
            let timestamp = Timestamp {
                flow: number,
                sequence: sequence[row],
                utc,
                error_bound: error_bound[row],
                host: *entry(&names, hosts[row]).ok_or_else(unknown)?,
            };
            match entry(&sides, directions[row]).ok_or_else(unknown)? {
                0 => self.0.sent(timestamp),
                1 => self.0.received(timestamp),
                _ => {}
            }
        }
        Ok(())
    }

    /// Joins them, after which none is left. `ranks`: by number, each host's place among their sorted names.
    fn flows<'py>(
        &mut self,
        python: Python<'py>,
        ranks: Vec<u32>,
        most: u64,
    ) -> PyResult<Bound<'py, PyDict>> {
        let packets = std::mem::take(&mut self.0);
        let flows = python
            .detach(|| packets.flows(&ranks, most))
            .map_err(|delays::Overflow| {
                PyOverflowError::new_err("the sum of two error bounds is more than 64 bits hold")
            })?;
        let answer = PyDict::new(python);
        let put = |name: &str, value: fn(&delays::Flow) -> Option<i64>| {
            answer.set_item(
                name,
                bytes(python, flows.iter().map(|flow| value(flow).unwrap_or(NULL))),
            )
        };
        put("host", |flow| Some(flow.host.into()))?;
        put("peer", |flow| flow.peer.map(i64::from))?;
        put("flow", |flow| Some(flow.flow))?;
        put("sent", |flow| Some(flow.sent))?;
        put("missing", |flow| Some(flow.missing))?;
        put("duplicate", |flow| Some(flow.duplicate))?;
        put("reordered", |flow| Some(flow.reordered))?;
        put("unmatched", |flow| Some(flow.unmatched))?;
        put("least", |flow| flow.least)?;
        put("median", |flow| flow.median)?;
        put("p99", |flow| flow.p99)?;
        put("most", |flow| flow.most)?;
        put("error_bound", |flow| flow.error_bound)?;
        Ok(answer)
    }
}

fn entry<T>(entries: &[T], place: i32) -> Option<&T> {
    entries.get(usize::try_from(place).ok()?)
}
