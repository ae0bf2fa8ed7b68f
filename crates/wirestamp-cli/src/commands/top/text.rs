//! Values as text. An unknown one is "-", never 0; text of others cannot control the terminal.

use crate::output::quantity;
use wirestamp_monitor::Delays;

/// What stands for a value that is not known.
pub(super) const UNKNOWN: &str = "-";
/// No name and no message is shown longer.
const LONGEST: usize = 2_000;

/// Text from elsewhere as it may be drawn: one line, bounded, without control characters and without those that change the direction
/// of writing.
pub(super) fn clean(text: &str) -> String {
    let harmless = |c: char| match c {
        '\t' | '\n' | '\r' => ' ',
        c if c.is_control() => '\u{fffd}',
        // no width, or they turn around what follows
        '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}' => '\u{fffd}',
        c => c,
    };
    text.chars().take(LONGEST).map(harmless).collect()
}

/// The same; nothing is [`UNKNOWN`].
pub(super) fn word(text: Option<&str>) -> String {
    match text {
        Some(text) if !text.is_empty() => clean(text),
        _ => UNKNOWN.to_owned(),
    }
}

/// An offset with its sign, with the digits that its error bound gives a meaning to.
pub(super) fn offset(offset: Option<i64>, bound: Option<i64>) -> String {
    let digits = |offset| quantity::signed(offset, bound.unwrap_or(offset));
    offset.map_or_else(|| UNKNOWN.to_owned(), digits)
}

/// An error bound: rounded up.
pub(super) fn bound(bound: Option<i64>) -> String {
    bound.map_or_else(
        || UNKNOWN.to_owned(),
        |bound| format!("± {}", quantity::rounded_up(bound)),
    )
}

/// The error bound of a value that is printed beside it with the digits of the bound `by`.
pub(super) fn bound_of(bound: Option<i64>, value: Option<i64>, by: Option<i64>) -> String {
    match (bound, value.zip(by)) {
        (Some(bound), Some((value, by))) => format!("± {}", quantity::beside(bound, value, by)),
        _ => self::bound(bound),
    }
}

/// A time, with the digits that its error bound gives a meaning to.
pub(super) fn delay(delay: Option<i64>, bound: Option<i64>) -> String {
    match delay.zip(bound) {
        Some((delay, bound)) => quantity::magnitude(delay, bound),
        None => time(delay),
    }
}

/// A time.
pub(super) fn time(nanoseconds: Option<i64>) -> String {
    nanoseconds.map_or_else(|| UNKNOWN.to_owned(), quantity::shown)
}

/// The limit of a bucket below which this share of the delays lies.
pub(super) fn quantile(delays: Option<&Delays>, share: f64) -> String {
    time(quantile_ns(delays, share))
}

pub(super) fn quantile_ns(delays: Option<&Delays>, share: f64) -> Option<i64> {
    let delays = delays?;
    let limit = (delays.quantile(share)? * 1e9).round() as i64;
    // the limit of the last bucket is beyond the largest
    let largest = delays.max_ns.and_then(|most| i64::try_from(most).ok());
    Some(largest.map_or(limit, |largest| limit.min(largest)))
}

/// Parts per billion, with a sign.
pub(super) fn frequency(ppb: Option<f64>) -> String {
    match ppb {
        Some(ppb) if ppb.is_finite() => format!("{ppb:+.1} ppb"),
        _ => UNKNOWN.to_owned(),
    }
}

/// Days, hours, minutes and seconds, the two largest of them.
pub(super) fn uptime(nanoseconds: i64) -> String {
    let seconds = nanoseconds / 1_000_000_000;
    match seconds {
        ..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        3_600..86_400 => format!("{} h {} min", seconds / 3_600, seconds / 60 % 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds / 3_600 % 24),
    }
}

/// Lost packets of those whose fate is known, with their share.
pub(super) fn loss(lost: u64, arrived: u64) -> String {
    let all = lost.saturating_add(arrived);
    if all == 0 {
        return UNKNOWN.to_owned();
    }
    if lost == 0 {
        return "0".to_owned();
    }
    let percent = lost as f64 * 100.0 / all as f64;
    match percent {
        ..0.1 => format!("{lost} (<0.1 %)"),
        _ => format!("{lost} ({percent:.1} %)"),
    }
}

/// A quantity of memory or of disk.
pub(super) fn bytes(bytes: u64) -> String {
    match bytes {
        ..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}

/// The time of day in an RFC 3339 text.
pub(super) fn time_of_day(rfc3339: &str) -> String {
    clean(rfc3339.get(11..19).unwrap_or(rfc3339))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_wrote_cannot_steer_the_terminal() {
        let shown = clean("a\u{1b}[2J\u{9b}b\u{7}\nc\u{202e}d\u{200b}é漢");
        assert_eq!(shown, "a\u{fffd}[2J\u{fffd}b\u{fffd} c\u{fffd}d\u{fffd}é漢");
        assert_eq!(clean(&"x".repeat(100_000)).len(), LONGEST);
    }

    #[test]
    fn what_is_not_known_is_no_number() {
        assert_eq!(offset(None, Some(5)), UNKNOWN);
        assert_eq!(bound(None), UNKNOWN);
        assert_eq!(time(None), UNKNOWN);
        assert_eq!(frequency(Some(f64::NAN)), UNKNOWN);
        assert_eq!(loss(0, 0), UNKNOWN);
        assert_eq!(quantile(Some(&Delays::default()), 0.5), UNKNOWN);
        assert_eq!(word(Some("")), UNKNOWN);
    }

    #[test]
    fn losses_have_their_share() {
        assert_eq!(loss(0, 5), "0");
        assert_eq!(loss(1, 3), "1 (25.0 %)");
        assert_eq!(loss(1, 9_999), "1 (<0.1 %)");
        assert_eq!(loss(u64::MAX, u64::MAX).split(' ').count(), 3);
    }
}
