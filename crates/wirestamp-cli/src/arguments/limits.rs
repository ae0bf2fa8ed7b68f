//! The limits of `latency`: what a measurement may come to before the program ends with a code of its own.

use clap::Args;
use std::time::Duration;

/// Above the options in the help.
pub(super) const HEADING: &str = "Limits: exit code 8 if one is exceeded";

#[derive(Debug, Args)]
#[command(next_help_heading = HEADING)]
pub(crate) struct Limits {
    /// Largest median delay
    ///
    /// Of the wire (with --peer and --echo: of the round trip), or of the path that is
    /// named: send_path, wire, receive_path, round_trip, and with --peer forward and backward. Can be repeated.
    #[arg(long, hide_short_help = true, value_name = "[PATH=]TIME", value_parser = limit)]
    pub(crate) max_p50: Vec<Limit>,
    /// Largest delay of 90 % of the packets, as for --max-p50
    #[arg(long, hide_short_help = true, value_name = "[PATH=]TIME", value_parser = limit)]
    pub(crate) max_p90: Vec<Limit>,
    /// Largest delay of 99 % of the packets; also p50, p90, p999
    ///
    /// [PATH=]TIME is as for --max-p50.
    #[arg(long, value_name = "[PATH=]TIME", value_parser = limit)]
    pub(crate) max_p99: Vec<Limit>,
    /// Largest delay of 99.9 % of the packets, as for --max-p50
    #[arg(long, hide_short_help = true, value_name = "[PATH=]TIME", value_parser = limit)]
    pub(crate) max_p999: Vec<Limit>,
    /// Largest share of lost packets: `0.1` or `0.1%`
    ///
    /// Losses within the limit do not cause exit code 6.
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub(crate) max_loss: Option<f64>,
}

/// Something that a path may take at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limit {
    /// `None`: the wire or the round trip.
    pub(crate) path: Option<LimitedPath>,
    pub(crate) time: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LimitedPath {
    SendPath,
    Wire,
    ReceivePath,
    RoundTrip,
    Forward,
    Backward,
}

impl LimitedPath {
    const ALL: [Self; 6] = [
        Self::SendPath,
        Self::Wire,
        Self::ReceivePath,
        Self::RoundTrip,
        Self::Forward,
        Self::Backward,
    ];

    /// As JSON names it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::SendPath => "send_path",
            Self::Wire => "wire",
            Self::ReceivePath => "receive_path",
            Self::RoundTrip => "round_trip",
            Self::Forward => "forward",
            Self::Backward => "backward",
        }
    }
}

/// Reads `50us` or `send_path=20us`.
fn limit(text: &str) -> Result<Limit, String> {
    let Some((path, time)) = text.split_once('=') else {
        let time = super::time::with_unit(text)?;
        return Ok(Limit { path: None, time });
    };
    let found = LimitedPath::ALL
        .into_iter()
        .find(|known| known.name() == path.replace('-', "_"));
    let path = found.ok_or_else(|| {
        let known = LimitedPath::ALL.map(LimitedPath::name).join(", ");
        format!("'{path}' is no path; write {known}, or the time alone")
    })?;
    let time = super::time::with_unit(time)?;
    Ok(Limit {
        path: Some(path),
        time,
    })
}

/// Reads `0.1` or `0.1%`.
pub(super) fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim();
    let value = number
        .parse()
        .ok()
        .filter(|value| (0.0..=100.0).contains(value));
    value.ok_or_else(|| format!("'{text}' is no percentage from 0 to 100; write 0.1 or 0.1%"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_may_name_its_path() {
        let time = Duration::from_micros(50);
        assert_eq!(limit("50us"), Ok(Limit { path: None, time }));
        let path = Some(LimitedPath::SendPath);
        assert_eq!(limit("send_path=50us"), Ok(Limit { path, time }));
        assert_eq!(limit("send-path=50us"), Ok(Limit { path, time }));
        assert!(limit("cable=50us").is_err_and(|error| error.contains("receive_path")));
        assert!(limit("wire=fast").is_err());
        for number in ["50", "wire=50"] {
            assert!(
                limit(number).is_err_and(|error| error.contains("50us")),
                "{number}"
            );
        }
    }

    #[test]
    fn losses_are_percentages() {
        assert_eq!(percent("0.1%"), Ok(0.1));
        assert_eq!(percent("0"), Ok(0.0));
        for wrong in ["-1", "101", "nan", "much", ""] {
            assert!(percent(wrong).is_err(), "{wrong}");
        }
    }
}
