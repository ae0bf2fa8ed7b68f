//! Send and receive paths of this host: packets from an interface to itself, or to an echo service. The session is the
//! library's [`LatencyRun`](wirestamp::latency::LatencyRun).

mod each;
mod once;
mod shown;

use crate::options::Path;
use crate::place::Place;
use crate::task::Task;
use each::EachTask;
use once::OnceTask;
use wirestamp::Result;

/// Opens a path. With options for one run it is measured once, else for ever.
pub(crate) fn open(configuration: &Path, place: &Place) -> Result<Box<dyn Task>> {
    let interface = place.interface(&configuration.interface)?;
    Ok(match configuration.once {
        Some(options) => Box::new(OnceTask::open(&interface, options)?),
        None => Box::new(EachTask::open(configuration, &interface)?),
    })
}
