//! The kernels as a Python module: columns come in through the buffer protocol and are copied once. Decides nothing.

mod flows;

use crate::mesh::{self, Assumptions, Excluded, Link, Reference};
use pyo3::buffer::{Element, PyBuffer};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

/// What stands for NULL in a column on its way in or out.
const NULL: i64 = i64::MIN;

type Column<'py> = Bound<'py, PyAny>;

/// Reads a column of integers.
fn column<T: Element + Copy>(python: Python<'_>, column: &Column<'_>) -> PyResult<Vec<T>> {
    PyBuffer::<T>::get(column)?.to_vec(python)
}

fn or_null(value: i64) -> Option<i64> {
    (value != NULL).then_some(value)
}

fn host(value: i64) -> PyResult<u32> {
    u32::try_from(value).map_err(|_| PyValueError::new_err(format!("there is no host {value}")))
}

fn bytes<'py>(python: Python<'py>, values: impl IntoIterator<Item = i64>) -> Bound<'py, PyBytes> {
    let bytes: Vec<u8> = values.into_iter().flat_map(i64::to_ne_bytes).collect();
    PyBytes::new(python, &bytes)
}

/// Solves one window: `mesh.solve`. `links`: from, to, forward, backward, least_forward, least_backward. `reference`: a host,
/// or a negative number for UTC. `origins`: hosts against which every other is bounded as well.
#[pyfunction]
#[expect(
    clippy::too_many_arguments,
    reason = "a window and what is assumed of it"
)]
fn solve<'py>(
    python: Python<'py>,
    links: Vec<Column<'py>>,
    claims: Column<'py>,
    reference: i64,
    drift: i64,
    rate: i64,
    timestamp_error: i64,
    origins: Vec<u32>,
) -> PyResult<Bound<'py, PyDict>> {
    let columns = links
        .iter()
        .map(|links| column::<i64>(python, links))
        .collect::<PyResult<Vec<_>>>()?;
    let [from, to, forward, backward, least_forward, least_backward] = columns.as_slice() else {
        return Err(PyValueError::new_err("links have six columns"));
    };
    if columns.iter().any(|column| column.len() != from.len()) {
        return Err(PyValueError::new_err(
            "the columns of links differ in length",
        ));
    }
    let link = |row: usize| {
        Ok(Link {
            from: host(from[row])?,
            to: host(to[row])?,
            forward: or_null(forward[row]),
            backward: or_null(backward[row]),
            least_forward: least_forward[row],
            least_backward: least_backward[row],
        })
    };
    let links = (0..from.len()).map(link).collect::<PyResult<Vec<_>>>()?;
    let claims: Vec<_> = column::<i64>(python, &claims)?
        .into_iter()
        .map(or_null)
        .collect();
    if let Some(origin) = origins
        .iter()
        .find(|origin| **origin as usize >= claims.len())
    {
        return Err(PyValueError::new_err(format!("there is no host {origin}")));
    }
    let reference = if reference < 0 {
        Reference::Utc
    } else {
        Reference::Host(host(reference)?)
    };
    let assumptions = Assumptions {
        drift,
        rate,
        timestamp_error,
    };
    let (solution, against) = python
        .detach(|| {
            let solution = mesh::solve(&links, &claims, reference, assumptions)?;
            let against: Vec<_> = origins
                .iter()
                .map(|origin| solution.against(*origin))
                .collect();
            Ok((solution, against))
        })
        .map_err(|invalid: mesh::Invalid| PyValueError::new_err(invalid.to_string()))?;
    let answer = PyDict::new(python);
    let offsets = || solution.offsets.iter();
    let known = |value: Option<i64>| value.unwrap_or(NULL);
    answer.set_item(
        "earliest",
        bytes(
            python,
            offsets().map(|offset| known(offset.ok().map(|offset| offset.earliest))),
        ),
    )?;
    answer.set_item(
        "latest",
        bytes(
            python,
            offsets().map(|offset| known(offset.ok().map(|offset| offset.latest))),
        ),
    )?;
    answer.set_item(
        "offset",
        bytes(
            python,
            offsets().map(|offset| known(offset.ok().map(|offset| offset.estimate))),
        ),
    )?;
    answer.set_item(
        "unclamped",
        bytes(
            python,
            solution.estimates.iter().map(|estimate| known(*estimate)),
        ),
    )?;
    let reasons: Vec<_> = offsets()
        .map(|offset| match offset {
            Ok(_) => None,
            Err(Excluded::Contradicts) => Some("contradicts"),
            Err(Excluded::Unreachable) => Some("unreachable"),
        })
        .collect();
    answer.set_item("reason", reasons)?;
    let cycles: Vec<_> = solution
        .cycles
        .iter()
        .map(|cycle| {
            (
                cycle.hosts.clone(),
                cycle.through_utc,
                cycle.excess,
                cycle.blamed,
                cycle.link,
            )
        })
        .collect();
    answer.set_item("cycles", cycles)?;
    let against: Vec<_> = against
        .into_iter()
        .map(|bounds| {
            let (earliest, latest): (Vec<_>, Vec<_>) = bounds
                .into_iter()
                .map(|bound| bound.unwrap_or((NULL, NULL)))
                .unzip();
            (bytes(python, earliest), bytes(python, latest))
        })
        .collect();
    answer.set_item("against", against)?;
    Ok(answer)
}

#[pymodule]
fn wirestamp_fleet_kernels(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("NULL", NULL)?;
    module.add_class::<flows::Packets>()?;
    module.add_function(wrap_pyfunction!(solve, module)?)
}
