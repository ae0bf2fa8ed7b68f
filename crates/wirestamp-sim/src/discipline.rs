//! Another program that disciplines a clock, as ptp4l and phc2sys do: a proportional and integral servo
//! that measures once an interval, steps a first offset away and adjusts the frequency from then on.

use crate::agenda::Happening;
use crate::clock::PER_PPB;
use crate::scenario::{Kind, Length, Program};
use crate::state::State;

/// The state of the program's servo.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Servo {
    has_measured: bool,
    /// The integral part, in ppb.
    drift: f64,
}

/// A command to the clock.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Action {
    /// Adds so many nanoseconds.
    Step(i64),
    /// Lets it run faster than by itself by so many ppb.
    Adjust(f64),
}

impl Servo {
    /// Takes in how far ahead the clock is, in nanoseconds.
    fn measured(&mut self, offset: i64, program: &Program) -> Action {
        let is_first = !std::mem::replace(&mut self.has_measured, true);
        if is_first && offset.abs() > program.first_step.nanoseconds() {
            return Action::Step(offset.saturating_neg());
        }
        let limit = f64::from(program.limit_ppb);
        let pace = offset as f64 / (program.interval.nanoseconds() as f64 / 1e9);
        self.drift = (self.drift - program.integral * pace).clamp(-limit, limit);
        Action::Adjust((self.drift - program.proportional * pace).clamp(-limit, limit))
    }
}

impl State {
    /// Lets a NIC's program measure one interval from now, if there is one.
    pub(crate) fn enter_discipline(&mut self, place: usize) {
        let program = &self.nics[place].settings.program;
        if program.kind != Kind::None {
            let at = self.now.saturating_add(program.interval.nanoseconds());
            self.agenda.enter(at, Happening::Disciplined { nic: place });
        }
    }

    pub(crate) fn discipline(&mut self, place: usize) {
        self.enter_discipline(place);
        let Some(hardware) = self.hardware_nanoseconds(place) else {
            return;
        };
        let utc = self.clocks.utc(self.now).nanoseconds();
        let nic = &mut self.nics[place];
        let program = nic.settings.program.clone();
        let noise = program.noise.length();
        let measured = utc
            .saturating_sub(hardware)
            .saturating_add(nic.chance.between(noise.negated(), noise));
        match program.kind {
            Kind::None => {}
            Kind::Ptp4l => match nic.servo.measured(measured.saturating_neg(), &program) {
                Action::Step(by) => self.step_hardware(place, by),
                Action::Adjust(ppb) if nic.virtual_clocks == 0 => {
                    nic.counter.adjust(self.now, parts(ppb));
                }
                Action::Adjust(_) => {}
            },
            Kind::Phc2sys => match nic.servo.measured(measured, &program) {
                Action::Step(by) => self
                    .clocks
                    .step_utc(Length::from_nanoseconds(by).nanoseconds()),
                Action::Adjust(ppb) => self.slew_system(parts(ppb)),
            },
        }
    }

    /// The counter as the kernel shows it. `None` while the NIC is gone or without a clock.
    fn hardware_nanoseconds(&mut self, place: usize) -> Option<i64> {
        let now = self.now;
        let nic = &mut self.nics[place];
        let ticks = nic.ticks(now).filter(|_| nic.present)?;
        let hertz = i128::from(nic.settings.clock.hertz);
        i64::try_from(i128::from(ticks.raw()) * 1_000_000_000 / hertz).ok()
    }

    fn step_hardware(&mut self, place: usize, by: i64) {
        let now = self.now;
        let nic = &mut self.nics[place];
        let ticks = i128::from(by) * i128::from(nic.settings.clock.hertz) / 1_000_000_000;
        // beside virtual clocks the kernel returns EBUSY
        if let (0, Ok(ticks)) = (nic.virtual_clocks, i64::try_from(ticks)) {
            nic.counter.step_by(now, ticks);
        }
    }
}

fn parts(ppb: f64) -> i64 {
    (ppb * PER_PPB as f64).round() as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_offset_is_stepped_away_and_later_ones_by_the_frequency() {
        let (mut servo, program) = (Servo::default(), Program::default());
        assert_eq!(servo.measured(50_000, &program), Action::Step(-50_000));
        assert_eq!(servo.measured(1_000, &program), Action::Adjust(-1_000.0));
        assert_eq!(
            servo.measured(0, &program),
            Action::Adjust(-300.0),
            "the integral part stays"
        );
        assert_eq!(
            servo.measured(50_000_000, &program),
            Action::Adjust(-500_000.0),
            "no further than allowed"
        );
    }

    #[test]
    fn it_settles_on_the_clocks_own_error() {
        let (mut servo, program) = (Servo::default(), Program::default());
        let (mut offset, mut adjusted) = (3_000.0, 0.0);
        for _ in 0..60 {
            if let Action::Adjust(ppb) = servo.measured(offset as i64, &program) {
                adjusted = ppb;
            }
            offset += 12_000.0 + adjusted; // 12 ppm fast
        }
        assert!(
            offset.abs() < 5.0 && (adjusted + 12_000.0).abs() < 5.0,
            "{offset} ns, {adjusted} ppb"
        );
    }
}
