//! Detects that a NIC no longer timestamps packets.

use wirestamp::{Error, ErrorKind, MonotonicTime, Result, Span};

/// So many in a row, and for so long: somebody has switched its timestamps off. Fewer are lost now and then.
const MANY: u32 = 4;
const LONG: Span = Span::from_seconds(1);

/// Packets in a row without a timestamp of the NIC.
#[derive(Debug, Default)]
pub(crate) struct Unstamped {
    count: u32,
    since: Option<MonotonicTime>,
}

impl Unstamped {
    pub(crate) fn note(&mut self, is_stamped: bool, now: MonotonicTime) {
        if is_stamped {
            *self = Self::default();
            return;
        }
        self.count = self.count.saturating_add(1);
        self.since.get_or_insert(now);
    }

    /// Checks that the NIC still timestamps.
    ///
    /// # Errors
    /// It does not. The measurement is then opened anew, which switches its timestamps on.
    pub(crate) fn check(&self, interface: Option<&str>, now: MonotonicTime) -> Result<()> {
        let is_long = self.since.is_some_and(|since| now - since >= LONG);
        if self.count < MANY || !is_long {
            return Ok(());
        }
        let cause = "the NIC does not timestamp packets any more";
        Err(Error::new(
            ErrorKind::NotSupported,
            "timestamp packets",
            interface.unwrap_or_default().to_owned(),
            cause,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_in_a_row_for_long_are_an_error() {
        let at = |milliseconds: i64| MonotonicTime::from_nanoseconds(milliseconds * 1_000_000);
        let mut unstamped = Unstamped::default();
        for time in 0..100 {
            unstamped.note(false, at(time));
        }
        assert!(unstamped.check(None, at(999)).is_ok(), "not for long");
        assert!(unstamped.check(None, at(1_000)).is_err());
        unstamped.note(true, at(1_001));
        for time in [2_000, 4_000, 6_000] {
            unstamped.note(false, at(time));
        }
        assert!(unstamped.check(None, at(9_000)).is_ok(), "three");
        unstamped.note(false, at(9_000));
        assert!(unstamped.check(None, at(9_000)).is_err());
    }
}
