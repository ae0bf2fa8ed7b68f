//! The reasons why a server gives no measurement.

use super::dialogue::Dialogue;
use wirestamp_ntp::NoSample;

/// Returns the reason as one word and as a sentence.
pub(super) fn of(dialogue: &Dialogue) -> Option<(&'static str, String)> {
    let missing = dialogue.missing.keys().next();
    Some(if let Some(stopped) = dialogue.client.stopped() {
        ("denied", stopped.to_string())
    } else if let Some(error) = &dialogue.failed {
        ("unreachable", error.cause().to_owned())
    } else if let Some(why @ NoSample::Unsynchronized) = dialogue.last_no_sample {
        ("unsynchronized", why.to_string())
    } else if let Some(why @ NoSample::Implausible) = dialogue.last_no_sample {
        ("implausible", why.to_string())
    } else if let Some(why @ NoSample::MissingTimestamp) = dialogue.last_no_sample {
        let text = missing.cloned().unwrap_or_else(|| why.to_string());
        ("no_timestamps", text)
    } else if let Some(kiss) = dialogue.kissed {
        let status = match kiss.is_unsynchronized() {
            true => "unsynchronized",
            false => "denied",
        };
        (status, kiss.to_string())
    } else if let Some(why) = dialogue.last_no_sample {
        let status = match why {
            NoSample::LocalStep => "stepped",
            _ => "no_sample",
        };
        (status, why.to_string())
    } else if dialogue.is_late {
        ("no_answer", "no answer".to_owned())
    } else {
        return None;
    })
}
