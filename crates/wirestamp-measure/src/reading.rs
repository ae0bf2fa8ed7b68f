//! A reading of a NIC's clock that can be compared with UTC.

use wirestamp::time::{Frequency, UtcCrossTimestamp};
use wirestamp::{Bounded, CrossTimestamp, InterfaceIndex, Span, UtcTime};

/// A reading of the hardware clock that was behind an interface, between two readings of the real-time clock.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct ClockReading {
    /// The hardware clock, read between two readings of the monotonic clock.
    pub cross: CrossTimestamp,
    /// The real-time clock, read before and after that.
    pub around: [UtcCrossTimestamp; 2],
    /// The interface, whose number changes when its driver is bound again.
    pub interface: InterfaceIndex,
    /// The frequency that the driver states for this clock; `None`: it states none.
    pub nominal: Option<Frequency>,
    /// Whether another clock was behind the interface at the reading before: a bond failed over, or the NIC came back.
    pub is_another: bool,
}

impl ClockReading {
    /// Returns the real-time clock just before the reading.
    pub const fn utc(&self) -> UtcTime {
        self.around[0].utc
    }

    /// Returns the hardware clock minus UTC as the real-time clock showed it, and an error bound; positive: the hardware clock is ahead. `None`: the
    /// width of the reading is unknown, the real-time clock was stepped meanwhile, or the hardware clock does not count nanoseconds.
    ///
    /// ```
    /// use wirestamp::{Simulation, Span};
    /// use wirestamp_measure::{ClockReading, Engine, Measurements, Place, Readings, Sample, Sink, Subject};
    ///
    /// struct Print;
    /// impl Sink for Print {
    ///     fn sample(&mut self, _: &Sample<'_>) {}
    ///     fn reading(&mut self, subject: Subject<'_>, reading: &ClockReading) {
    ///         let offset = reading.offset_to_utc().expect("an igb has extended cross timestamps");
    ///         println!("{}: {} ± {}", subject.name, offset.value, offset.bound);
    ///     }
    /// }
    ///
    /// # fn main() -> wirestamp::Result<()> {
    /// # let place = Place::Simulation(Simulation::preset("igb", 1)?);
    /// let mut engine = Engine::new(Measurements::default().readings(Readings::of("sim0")), place)?;
    /// engine.run_until(engine.now() + Span::from_seconds(1), &mut Print)?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn offset_to_utc(&self) -> Option<Bounded<Span>> {
        if self.cross.bracket().is_none() || self.nominal != Some(Frequency::GIGAHERTZ) {
            return None;
        }
        // UTC minus the monotonic clock lies in what both readings allow
        let [first, last] = self.around.map(|reading| {
            let utc = i128::from(reading.utc.nanoseconds());
            [reading.after, reading.before].map(|at| utc - i128::from(at.nanoseconds()))
        });
        let (low, high) = (first[0].max(last[0]), first[1].min(last[1]));
        if low > high {
            return None; // it was stepped
        }
        let ticks = i128::from(self.cross.hardware().raw());
        let after = i128::from(self.cross.monotonic_after().nanoseconds());
        let before = i128::from(self.cross.monotonic_before().nanoseconds());
        let (least, most) = (ticks - after - high, ticks - before - low);
        Some(Bounded {
            value: Span::from_nanoseconds(least + (most - least) / 2),
            // each clock shows a nanosecond that has begun
            bound: Span::from_nanoseconds((most - least + 1) / 2 + 1),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirestamp::clock::CrossMethod;
    use wirestamp::{HardwareTicks, MonotonicTime};

    fn utc(before: i64, utc: i64, after: i64) -> UtcCrossTimestamp {
        UtcCrossTimestamp {
            before: MonotonicTime::from_nanoseconds(before),
            utc: UtcTime::from_nanoseconds(utc),
            after: MonotonicTime::from_nanoseconds(after),
        }
    }

    /// UTC is ahead of the monotonic clock by 500, the hardware clock of UTC by 7.
    fn reading(around: [UtcCrossTimestamp; 2]) -> ClockReading {
        let at = MonotonicTime::from_nanoseconds;
        let ticks = HardwareTicks::new(110 + 500 + 7);
        let cross = CrossTimestamp::new(at(100), ticks, at(120), CrossMethod::Extended);
        ClockReading {
            cross: cross.expect("valid"),
            around,
            interface: InterfaceIndex::new(1).expect("a number"),
            nominal: Some(Frequency::GIGAHERTZ),
            is_another: false,
        }
    }

    #[test]
    fn the_offset_contains_every_truth_that_the_readings_allow() {
        let reading = reading([utc(80, 90 + 500, 100), utc(125, 130 + 500, 135)]);
        // 10 of half a bracket, 5 of the narrower reading of UTC
        let (value, bound) = (Span::from_nanoseconds(7), Span::from_nanoseconds(16));
        assert_eq!(reading.offset_to_utc(), Some(Bounded { value, bound }));
        let cycles = ClockReading {
            nominal: None,
            ..reading
        };
        assert_eq!(cycles.offset_to_utc(), None, "no nanoseconds");
    }

    #[test]
    fn a_step_meanwhile_leaves_no_offset() {
        let around = [utc(80, 590, 100), utc(125, 1_630, 135)];
        assert_eq!(reading(around).offset_to_utc(), None);
    }
}
