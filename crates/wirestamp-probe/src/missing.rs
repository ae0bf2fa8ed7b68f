//! The reasons why a packet lacks a transmit timestamp.

use wirestamp_core::timestamp::MissingReason;

/// The reasons why a packet lacks a transmit timestamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Missing {
    /// The system returned none.
    System(MissingReason),
    /// There is one, but it cannot be converted to the host's clocks.
    NotConverted,
    /// The system did not send the packet.
    NotSent,
    /// It had not come when the packet was evaluated.
    Awaited,
}

impl Missing {
    /// All reasons.
    pub const ALL: [Self; 10] = [
        Self::System(MissingReason::ALL[0]),
        Self::System(MissingReason::ALL[1]),
        Self::System(MissingReason::ALL[2]),
        Self::System(MissingReason::ALL[3]),
        Self::System(MissingReason::ALL[4]),
        Self::System(MissingReason::ALL[5]),
        Self::System(MissingReason::ALL[6]),
        Self::NotConverted,
        Self::NotSent,
        Self::Awaited,
    ];

    /// Returns a short, stable name: the one in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::System(reason) => reason.name(),
            Self::NotConverted => "not_converted",
            Self::NotSent => "not_sent",
            Self::Awaited => "awaited",
        }
    }
}

/// The numbers of packets without a transmit timestamp, by reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MissingCounts([u64; Missing::ALL.len()]);

impl MissingCounts {
    pub(crate) fn count(&mut self, reason: Missing) {
        let place = Missing::ALL.iter().position(|one| *one == reason);
        if let Some(count) = place.and_then(|place| self.0.get_mut(place)) {
            *count += 1;
        }
    }

    /// Returns the number for one reason.
    pub fn of(&self, reason: Missing) -> u64 {
        self.reasons()
            .find_map(|(one, count)| (one == reason).then_some(count))
            .unwrap_or(0)
    }

    /// Returns the total over all reasons.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Returns the reasons that occurred, with their numbers.
    pub fn reasons(&self) -> impl Iterator<Item = (Missing, u64)> + '_ {
        let all = Missing::ALL.into_iter().zip(self.0);
        all.filter(|(_, count)| *count > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_has_its_own_count_and_name() {
        let mut counts = MissingCounts::default();
        for (place, reason) in Missing::ALL.into_iter().enumerate() {
            for _ in 0..=place {
                counts.count(reason);
            }
        }
        let told: Vec<_> = counts.reasons().map(|(_, count)| count).collect();
        assert_eq!(told, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
        assert_eq!((counts.total(), counts.of(Missing::NotSent)), (55, 9));
        let names: std::collections::BTreeSet<_> = Missing::ALL.map(Missing::name).into();
        assert_eq!(names.len(), Missing::ALL.len());
    }
}
