//! A NIC's clock as a device that programs set and adjust: its limit, its resolution, and its errors.

use crate::clock::PER_PPB;
use crate::codes::Refusal;
use crate::control::NicName;
use crate::scenario::{Beyond, Which};
use crate::state::State;
use crate::world::World;
use wirestamp_core::Result;
use wirestamp_core::time::{Frequency, HardwareTicks, Span};

/// The clock of a simulated NIC, opened for writing. From [`World::clock_device`].
#[derive(Debug, Clone)]
pub struct ClockDevice {
    world: World,
    nic: NicName,
}

impl World {
    /// Opens a NIC's clock for writing.
    pub fn clock_device(&self, nic: NicName) -> ClockDevice {
        ClockDevice {
            world: self.clone(),
            nic,
        }
    }

    /// The driver resets a clock's frequency register, as some do when the link changes: the
    /// adjustment is gone, the counter goes on, and there is no notification.
    pub fn drop_frequency_adjustment(&self, nic: NicName) {
        self.with(|state| {
            let now = state.now;
            state.nics[nic.which().place()].counter.adjust(now, 0);
        });
    }
}

impl ClockDevice {
    /// Returns the counter's value. Costs no time.
    ///
    /// # Errors
    /// `NoSuchDevice` while the NIC is gone or if it has no clock.
    pub fn now(&self) -> Result<HardwareTicks> {
        self.ask("read the clock", |state, which| {
            let now = state.now;
            state.nics[which.place()]
                .ticks(now)
                .ok_or(Refusal::NoDevice)
        })
    }

    /// Adds to the counter.
    ///
    /// # Errors
    /// As [`now`](Self::now); `Busy` while virtual clocks run on it.
    pub fn step(&self, by: Span) -> Result<()> {
        self.change("step the clock", |state, which| {
            let now = state.now;
            let counter = &mut state.nics[which.place()].counter;
            let hertz = counter.nominal().map_or(1_000_000_000, Frequency::hertz);
            let ticks = by.nanoseconds() * i128::from(hertz) / 1_000_000_000;
            counter.step_by(now, i64::try_from(ticks).map_err(|_| Refusal::OutOfRange)?);
            Ok(())
        })
    }

    /// Makes the clock run faster than by itself by `ppb`; negative: slower. The hardware rounds to
    /// its resolution, and the driver rejects or clamps an adjustment beyond its limit.
    ///
    /// # Errors
    /// As [`step`](Self::step); `InvalidInput` beyond the limit.
    pub fn adjust_frequency(&self, ppb: f64) -> Result<()> {
        self.change("adjust the clock's frequency", |state, which| {
            let now = state.now;
            let nic = &mut state.nics[which.place()];
            let device = &nic.settings.clock.adjustment;
            let limit = f64::from(device.limit_ppb);
            if !ppb.is_finite() || (ppb.abs() > limit && device.beyond == Beyond::Refuse) {
                return Err(Refusal::OutOfRange);
            }
            let wanted = ppb.clamp(-limit, limit);
            let kept = match device.step_ppb {
                0.0 => wanted,
                step => {
                    let most = (limit / step).floor();
                    (wanted / step).round().clamp(-most, most) * step
                }
            };
            nic.counter
                .adjust(now, (kept * PER_PPB as f64).round() as i64);
            Ok(())
        })
    }

    /// Returns the frequency adjustment, in ppb.
    ///
    /// # Errors
    /// As [`now`](Self::now).
    pub fn frequency(&self) -> Result<f64> {
        self.ask("read the clock's frequency adjustment", |state, which| {
            Ok(state.nics[which.place()].counter.adjustment() as f64 / PER_PPB as f64)
        })
    }

    /// Returns the largest frequency adjustment in ppb. `None` if the driver does not report it.
    pub fn largest_adjustment_ppb(&self) -> Option<u32> {
        self.world.with(|state| {
            let device = &state.nics[self.nic.which().place()]
                .settings
                .clock
                .adjustment;
            device.report_limit.then_some(device.limit_ppb)
        })
    }

    /// Returns the resolution of frequency adjustments in ppb, as its data sheet says; 0: exact.
    pub fn resolution_ppb(&self) -> f64 {
        self.world.with(|state| {
            state.nics[self.nic.which().place()]
                .settings
                .clock
                .adjustment
                .step_ppb
        })
    }

    /// Changes the clock, unless virtual clocks run on it: the kernel rejects every change then.
    fn change(
        &self,
        operation: &'static str,
        act: impl FnOnce(&mut State, Which) -> Result<(), Refusal>,
    ) -> Result<()> {
        self.ask(operation, |state, which| {
            match state.nics[which.place()].virtual_clocks {
                0 => act(state, which),
                _ => Err(Refusal::Busy),
            }
        })
    }

    fn ask<T>(
        &self,
        operation: &'static str,
        act: impl FnOnce(&mut State, Which) -> Result<T, Refusal>,
    ) -> Result<T> {
        self.world.with(|state| {
            let which = self.nic.which();
            let nic = &state.nics[which.place()];
            let (is_there, name) = (nic.present && nic.settings.clock.present, nic.name());
            let done = if is_there {
                act(state, which)
            } else {
                Err(Refusal::NoDevice)
            };
            done.map_err(|refusal| refusal.error(state.platform, operation, name))
        })
    }
}
