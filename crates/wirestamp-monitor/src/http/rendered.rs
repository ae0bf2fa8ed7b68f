//! A snapshot in each requested format, encoded once however many clients ask.

use crate::metrics::{self, NotEncoded};
use crate::snapshot::Snapshot;
use hyper::body::Bytes;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The octets and how many series the limit left out of them, or why there are none.
type Written = Result<(Bytes, u64), String>;

#[derive(Debug, Default)]
pub(super) struct Rendered {
    snapshot: Arc<Snapshot>,
    json: OnceLock<Written>,
    text: OnceLock<Written>,
    open_metrics: OnceLock<Written>,
    protobuf: OnceLock<Written>,
}

impl Rendered {
    pub(super) fn json(&self) -> &Written {
        self.json.get_or_init(|| {
            let octets = serde_json::to_vec(&*self.snapshot);
            octets
                .map(|octets| (octets.into(), 0))
                .map_err(|error| error.to_string())
        })
    }

    pub(super) fn text(&self, limit: usize) -> &Written {
        self.text
            .get_or_init(|| kept(metrics::text_limited(Arc::clone(&self.snapshot), limit)))
    }

    pub(super) fn open_metrics(&self, limit: usize) -> &Written {
        self.open_metrics.get_or_init(|| {
            kept(metrics::open_metrics_limited(
                Arc::clone(&self.snapshot),
                limit,
            ))
        })
    }

    pub(super) fn protobuf(&self, limit: usize) -> &Written {
        self.protobuf
            .get_or_init(|| kept(metrics::protobuf_limited(Arc::clone(&self.snapshot), limit)))
    }
}

fn kept<T: Into<Bytes>>(written: Result<(T, u64), NotEncoded>) -> Written {
    written
        .map(|(octets, left_out)| (octets.into(), left_out))
        .map_err(|error| error.to_string())
}

/// The newest snapshot in its encoded formats.
#[derive(Debug, Default)]
pub(super) struct Newest(Mutex<Arc<Rendered>>);

impl Newest {
    pub(super) fn of(&self, snapshot: Arc<Snapshot>) -> Arc<Rendered> {
        let mut newest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !Arc::ptr_eq(&newest.snapshot, &snapshot) {
            *newest = Arc::new(Rendered {
                snapshot,
                ..Rendered::default()
            });
        }
        Arc::clone(&newest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_of_a_snapshot_is_written_once_and_of_another_snapshot_anew() {
        let newest = Newest::default();
        let snapshots = ["one", "other"].map(|host| {
            Arc::new(Snapshot {
                host: host.to_owned(),
                ..Snapshot::default()
            })
        });
        let written = |snapshot: &Arc<Snapshot>| {
            let rendered = newest.of(Arc::clone(snapshot));
            let texts = [rendered.text(10), rendered.open_metrics(10)];
            [rendered.json(), texts[0], texts[1], rendered.protobuf(10)]
                .map(|written| written.clone().expect("written").0)
        };
        let [first, again] = [&snapshots[0]; 2].map(written);
        for (one, other) in first.iter().zip(&again) {
            assert_eq!(one.as_ptr(), other.as_ptr(), "the same octets");
        }
        assert_ne!(first, written(&snapshots[1]));
    }
}
