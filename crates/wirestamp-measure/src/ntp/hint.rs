//! Recognises servers whose time looks like another timescale than UTC.

use crate::options::TAI_OFFSET;
use wirestamp::Span;
use wirestamp_ntp::{Measurement, ServerState};

/// Timescales without leap seconds, and how far they are ahead of UTC since 2017. GPS time is 19 s behind TAI.
const OTHERS: [(&str, Span); 2] = [
    ("TAI", Span::from_seconds(TAI_OFFSET as i64)),
    ("GPS time", Span::from_seconds(TAI_OFFSET as i64 - 19)),
];
/// A clock that shows another timescale may be off by so much from that.
const NEAR: Span = Span::from_milliseconds(500);
/// The first octet of the reference of ntpd and others while they smear a leap second.
const SMEARING: u8 = 254;

/// A sentence; `None`: it looks like UTC, or like anything.
pub(super) fn of(server: Option<ServerState>, measured: Option<&Measurement>) -> Option<String> {
    let timescale = measured.and_then(other_timescale);
    timescale.or_else(|| server.and_then(smears))
}

/// By an offset that is a timescale's.
fn other_timescale(measured: &Measurement) -> Option<String> {
    let apart = measured.offset.value.abs();
    let is_near = |ahead: Span| (apart - ahead).abs() <= NEAR + measured.offset.bound;
    // an offset that is hardly known is near to each of them
    let is_known = measured.offset.bound <= NEAR;
    let (name, ahead) = OTHERS
        .into_iter()
        .find(|(_, ahead)| is_known && is_near(*ahead))?;
    let whose = match measured.offset.value < Span::ZERO {
        true => "the server's",
        false => "this host's",
    };
    Some(format!(
        "{whose} clock is ahead by {ahead}, as {name} is of UTC: it may show {name}"
    ))
}

fn smears(server: ServerState) -> Option<String> {
    let is_address = server.stratum > 1 && server.reference_id[0] == SMEARING;
    is_address.then(|| {
        "its reference is 254.x.x.x, as that of servers that smear a leap second: its time may not be UTC".to_owned()
    })
}
