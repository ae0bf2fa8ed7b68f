//! What the router does to packets from one host to another, and its text form.

use std::str::FromStr;
use std::time::Duration;

/// Packets that may wait for a limited rate, if nothing else is said.
const QUEUE: usize = 100;
/// How much later a reordered packet leaves, if nothing else is said.
const LATE: Duration = Duration::from_millis(5);

/// What happens to packets from one host to another.
///
/// By default nothing: they are forwarded at once, unchanged but for the hop count. As text it is a list such as
/// `delay=3ms,jitter=200us,loss=2%,duplicate=1%,reorder=1%,late=5ms,rate=10m,queue=50,dscp=0,ecn=3,mtu=1280,told_mtu=1300`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Direction {
    pub(crate) delay: Duration,
    pub(crate) jitter: Duration,
    pub(crate) loss: f64,
    pub(crate) duplicate: f64,
    pub(crate) reorder: f64,
    pub(crate) late: Duration,
    pub(crate) rate: Option<u64>,
    pub(crate) queue: usize,
    pub(crate) dscp: Option<u8>,
    pub(crate) ecn: Option<u8>,
    pub(crate) mtu: Option<usize>,
    pub(crate) told_mtu: Option<u16>,
}

impl Default for Direction {
    fn default() -> Self {
        Self {
            delay: Duration::ZERO,
            jitter: Duration::ZERO,
            loss: 0.0,
            duplicate: 0.0,
            reorder: 0.0,
            late: LATE,
            rate: None,
            queue: QUEUE,
            dscp: None,
            ecn: None,
            mtu: None,
            told_mtu: None,
        }
    }
}

impl Direction {
    /// Forwards everything at once.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Every packet takes at least this long.
    #[must_use]
    pub fn delay(self, delay: Duration) -> Self {
        Self { delay, ..self }
    }

    /// Adds between nothing and this to each delay, evenly distributed. Packets keep their order.
    #[must_use]
    pub fn jitter(self, jitter: Duration) -> Self {
        Self { jitter, ..self }
    }

    /// Loses this share of the packets (0 to 1).
    #[must_use]
    pub fn loss(self, loss: f64) -> Self {
        Self { loss, ..self }
    }

    /// Forwards this share of the packets twice.
    #[must_use]
    pub fn duplicate(self, duplicate: f64) -> Self {
        Self { duplicate, ..self }
    }

    /// Delays this share of the packets by `late` more, so that others overtake them.
    #[must_use]
    pub fn reorder(self, reorder: f64, late: Duration) -> Self {
        Self {
            reorder,
            late,
            ..self
        }
    }

    /// Forwards no more than this many bits per second; more than `queue` waiting packets are lost.
    #[must_use]
    pub fn rate(self, bits_per_second: u64, queue: usize) -> Self {
        Self {
            rate: Some(bits_per_second),
            queue,
            ..self
        }
    }

    /// Sets the DSCP (0 to 63) of every packet.
    #[must_use]
    pub fn dscp(self, dscp: u8) -> Self {
        Self {
            dscp: Some(dscp),
            ..self
        }
    }

    /// Sets the ECN field (0 to 3) of every packet.
    #[must_use]
    pub fn ecn(self, ecn: u8) -> Self {
        Self {
            ecn: Some(ecn),
            ..self
        }
    }

    /// Loses packets of more than so many bytes, IP header included, without a word (a path MTU black hole).
    #[must_use]
    pub fn mtu(self, bytes: usize) -> Self {
        Self {
            mtu: Some(bytes),
            ..self
        }
    }

    /// Loses packets of more than so many bytes, IP header included, and tells their sender by ICMP, as a router does whose link has this MTU. Linux takes
    /// no less than 552 over IPv4 and 1,280 over IPv6.
    #[must_use]
    pub fn told_mtu(self, bytes: u16) -> Self {
        Self {
            told_mtu: Some(bytes),
            ..self
        }
    }

    /// Says what is out of range.
    pub(crate) fn check(&self) -> Result<(), String> {
        let shares = [
            ("loss", self.loss),
            ("duplicate", self.duplicate),
            ("reorder", self.reorder),
        ];
        for (name, share) in shares {
            if !(0.0..=1.0).contains(&share) {
                return Err(format!("{name} {share} is no share of the packets"));
            }
        }
        if self.rate == Some(0) {
            return Err("a rate of 0 forwards nothing: use a loss of 100%".into());
        }
        if self.dscp.is_some_and(|dscp| dscp > 63) || self.ecn.is_some_and(|ecn| ecn > 3) {
            return Err("a DSCP is at most 63, an ECN field at most 3".into());
        }
        Ok(())
    }
}

impl FromStr for Direction {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut direction = Self::default();
        for part in text.split(',').filter(|part| !part.is_empty()) {
            let (name, value) = part
                .split_once('=')
                .ok_or_else(|| format!("'{part}' is no NAME=VALUE"))?;
            match name {
                "delay" => direction.delay = time(value)?,
                "jitter" => direction.jitter = time(value)?,
                "loss" => direction.loss = share(value)?,
                "duplicate" => direction.duplicate = share(value)?,
                "reorder" => direction.reorder = share(value)?,
                "late" => direction.late = time(value)?,
                "rate" => direction.rate = Some(rate(value)?),
                "queue" => direction.queue = number(value)?,
                "dscp" => direction.dscp = Some(number(value)?),
                "ecn" => direction.ecn = Some(number(value)?),
                "mtu" => direction.mtu = Some(number(value)?),
                "told_mtu" => direction.told_mtu = Some(number(value)?),
                _ => return Err(format!("'{name}' is nothing the router does")),
            }
        }
        direction.check()?;
        Ok(direction)
    }
}

fn time(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text).map_err(|error| format!("'{text}': {error}"))
}

fn number<T: FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("'{text}' is no number"))
}

/// `2%` or `0.02`.
fn share(text: &str) -> Result<f64, String> {
    match text.strip_suffix('%') {
        Some(percent) => Ok(number::<f64>(percent)? / 100.0),
        None => number(text),
    }
}

/// Bits per second: `800000`, `800k`, `10m`, `1g`.
fn rate(text: &str) -> Result<u64, String> {
    let units = [('k', 1_000), ('m', 1_000_000), ('g', 1_000_000_000)];
    for (unit, factor) in units {
        if let Some(digits) = text.strip_suffix(unit) {
            return number::<u64>(digits)?
                .checked_mul(factor)
                .ok_or_else(|| format!("'{text}' is too much"));
        }
    }
    number(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_says_the_same_as_the_builder() {
        let text = "delay=3ms,jitter=200us,loss=2%,duplicate=0.5,reorder=1%,late=4ms,rate=10m,queue=7,dscp=46,ecn=3,mtu=1280,told_mtu=1300";
        let built = Direction::new()
            .delay(Duration::from_millis(3))
            .jitter(Duration::from_micros(200))
            .loss(0.02)
            .duplicate(0.5)
            .reorder(0.01, Duration::from_millis(4))
            .rate(10_000_000, 7)
            .dscp(46)
            .ecn(3)
            .mtu(1_280)
            .told_mtu(1_300);
        assert_eq!(text.parse(), Ok(built));
        assert_eq!("".parse(), Ok(Direction::new()));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for text in [
            "loss=101%",
            "loss=NaN",
            "rate=0",
            "dscp=64",
            "ecn=4",
            "delay=3",
            "speed=1",
            "loss",
        ] {
            assert!(text.parse::<Direction>().is_err(), "{text}");
        }
    }
}
