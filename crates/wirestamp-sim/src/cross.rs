//! How cross timestamps are read, and how reading them fails. Fits nothing.

use crate::codes::{Refusal, numbered};
use crate::scenario::CrossKind;
use crate::state::State;
use wirestamp_core::cross::{CrossInvalid, CrossMethod, CrossTimestamp};
use wirestamp_core::interface::{InterfaceDescription, InterfaceIndex};
use wirestamp_core::time::{HardwareTicks, MonotonicTime, Span};
use wirestamp_core::{Error, ErrorKind, Result};

const OPERATION: &str = "take cross timestamps";
/// The largest number of readings in one call; Linux: `PTP_MAX_SAMPLES`.
const MOST: usize = 25;

impl State {
    /// Opens the hardware clock of an interface.
    pub(crate) fn open_clock(
        &mut self,
        interface: &InterfaceDescription,
    ) -> Result<(InterfaceIndex, u32)> {
        const OPERATION: &str = "open the hardware clock";
        self.pass(self.cost.query);
        let place = self.place(interface, OPERATION)?;
        let Some(number) = self.nics[place].clock_number() else {
            return Err(self.refusal(Refusal::NotSupported, OPERATION, place));
        };
        if !self.host.privileged {
            return Err(self.refusal(Refusal::AccessDenied, OPERATION, place));
        }
        Ok((self.nics[place].index, number))
    }

    /// Takes up to `count` readings.
    pub(crate) fn cross(
        &mut self,
        (index, number): (InterfaceIndex, u32),
        count: usize,
        readings: &mut Vec<CrossTimestamp>,
    ) -> Result<()> {
        self.pass(self.cost.query);
        let Some(place) = self.place_of(index) else {
            return Err(Refusal::NoDevice.error(
                self.platform,
                OPERATION,
                format_args!("interface {index}"),
            ));
        };
        let method = self.may_cross(place)?;
        let (count, before) = (count.clamp(1, MOST), readings.len());
        let utc = self.nics[place].settings.cross.utc;
        if utc {
            self.compare_clocks();
        }
        for reading in 0..count {
            let Some(triple) = self.read_once((place, number), method, reading == 0) else {
                break;
            };
            match self.as_reading(triple, method, utc) {
                Ok(reading) => readings.push(reading),
                Err(_) => self.invalid_readings += 1,
            }
        }
        if utc && self.compare_clocks().is_some() {
            readings.truncate(before); // as Linux does: over a step, nobody knows on which side they were
        }
        if readings.len() == before {
            let cause =
                "every reading was invalid: a zero in it, or system times that run backwards";
            return Err(
                Error::new(ErrorKind::Io, OPERATION, self.nics[place].name(), cause)
                    .with_remedy("try again; update the driver if it stays so"),
            );
        }
        Ok(())
    }

    /// Compares the system's clocks. Returns the size of a step that shows.
    fn compare_clocks(&mut self) -> Option<Span> {
        let Self {
            clocks,
            utc_readings,
            now,
            ..
        } = self;
        let offset = utc_readings.get_or_insert_with(|| clocks.first_offset(*now));
        clocks.observe(offset, *now)
    }

    fn as_reading(
        &self,
        (first, hardware, second): (MonotonicTime, HardwareTicks, MonotonicTime),
        method: CrossMethod,
        utc: bool,
    ) -> core::result::Result<CrossTimestamp, CrossInvalid> {
        match &self.utc_readings {
            Some(offset) if utc => {
                let [first, second] = [first, second].map(|at| self.clocks.in_utc(at));
                CrossTimestamp::in_utc(offset, first, hardware, second, method)
            }
            _ => CrossTimestamp::new(first, hardware, second, method),
        }
    }

    /// By which method, if the system lets it be read now.
    fn may_cross(&mut self, place: usize) -> Result<CrossMethod> {
        let now = self.now;
        let nic = &mut self.nics[place];
        let cross = &nic.settings.cross;
        let method = match cross.method {
            _ if cross.code != 0 => return Err(numbered(cross.code, OPERATION, nic.name())),
            CrossKind::None => return Err(self.refusal(Refusal::NotSupported, OPERATION, place)),
            CrossKind::Precise => CrossMethod::Precise,
            CrossKind::Extended => CrossMethod::Extended,
            CrossKind::Basic => CrossMethod::Basic,
            CrossKind::Driver => CrossMethod::Driver,
        };
        let too_soon = nic
            .last_cross
            .is_some_and(|last| now - last < cross.interval.nanoseconds());
        if too_soon || nic.chance.happens(cross.busy) {
            return Err(self.refusal(Refusal::Busy, OPERATION, place));
        }
        nic.last_cross = Some(now);
        Ok(method)
    }

    /// The system time that is latched beside the counter, as well as that is done.
    fn latched(&mut self, place: usize) -> MonotonicTime {
        let nic = &mut self.nics[place];
        let most = nic.settings.cross.latch_error.length();
        let off = match most.nanoseconds() {
            0 => 0,
            _ => nic.chance.between(most.negated(), most),
        };
        self.clocks.system(self.now.saturating_add(off))
    }

    /// One reading as the driver gives it, valid or not. `None`: the NIC went away.
    fn read_once(
        &mut self,
        (place, number): (usize, u32),
        method: CrossMethod,
        is_first: bool,
    ) -> Option<(MonotonicTime, HardwareTicks, MonotonicTime)> {
        let nic = &mut self.nics[place];
        let cross = &nic.settings.cross;
        let slow = if is_first {
            nic.chance.delay(&cross.first)
        } else {
            0
        };
        let forward = nic.chance.delay(&cross.forward).saturating_add(slow);
        let back = nic.chance.delay(&cross.back);
        let (forward, back) = nic.held_up(forward, back);
        let before = self.monotonic_now();
        self.advance_to(self.now.saturating_add(forward));
        let (now, latched) = (self.now, self.latched(place));
        let mut hardware = self.nics[place]
            .ticks_of(number, now)
            .filter(|_| self.nics[place].present)?;
        self.advance_to(self.now.saturating_add(back));
        let after = self.monotonic_now();
        let (mut first, mut second) = match method {
            CrossMethod::Precise => (latched, latched),
            _ => (before, after),
        };
        let nic = &mut self.nics[place];
        let cross = &nic.settings.cross;
        if cross.equal_brackets {
            second = first;
        }
        if nic.chance.happens(cross.backwards) {
            (first, second) = (after, before);
        }
        if nic.chance.happens(cross.zero) {
            hardware = HardwareTicks::new(0);
        }
        Some((first, hardware, second))
    }
}
