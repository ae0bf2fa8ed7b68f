//! `latency --peer`: the engine's STAMP session. The format of timestamps is `reflect`'s, too.

mod drawn;
mod kept;
mod measurement;
mod packets;
#[cfg(feature = "parquet")]
mod probes;
#[cfg(not(feature = "parquet"))]
#[path = "peer/without_parquet.rs"]
mod probes;
mod run;
mod silence;
mod text;

pub(super) use run::run;
#[cfg(all(test, feature = "schema"))]
pub(in crate::commands) use run::schema;

use crate::arguments::{Format, Source};
use crate::failure::told;
use std::path::Path;
use wirestamp::{Error, ErrorKind, Interface, TimestampSource, file};
use wirestamp_measure::Timestamper;
use wirestamp_probe::{Key, TimestampFormat};

/// The longest key file that is read: 2048 digits, and white space.
const LONGEST_FILE: u64 = 4_096;

/// The key in a file. No message holds anything of it.
fn key(path: Option<&Path>) -> Result<Option<Key>, Error> {
    let Some(path) = path else {
        return Ok(None);
    };
    let shown = path.display().to_string();
    let invalid = |cause: String| {
        Error::new(
            ErrorKind::InvalidInput,
            "read the key",
            shown.clone(),
            cause,
        )
        .with_remedy("make one: openssl rand -hex 32 > FILE, and chmod 600 FILE")
    };
    let text = file::read_text(path, LONGEST_FILE)
        .map_err(|error| told(ErrorKind::InvalidInput, "read the key", &shown, &error))?;
    Key::from_hexadecimal(&text)
        .map(Some)
        .map_err(|error| invalid(error.to_string()))
}

/// Who timestamps: the NIC of an interface that is named, or the kernel.
fn source(wanted: Source, interface: Option<&Interface>) -> Result<Timestamper, Error> {
    let Some(interface) = interface else {
        if wanted == Source::Hardware {
            let cause = "hardware timestamps are of one NIC, and no interface is named";
            return Err(
                Error::new(ErrorKind::InvalidInput, "timestamp", "any interface", cause)
                    .with_remedy("name the interface, or leave --source out"),
            );
        }
        return Ok(Timestamper::Software);
    };
    Ok(match super::source(wanted, interface) {
        TimestampSource::Software => Timestamper::Software,
        TimestampSource::Hardware => Timestamper::Hardware,
    })
}

pub(in crate::commands) fn format(format: Format) -> TimestampFormat {
    match format {
        Format::Ntp => TimestampFormat::Ntp,
        Format::Ptp => TimestampFormat::Ptp,
    }
}
