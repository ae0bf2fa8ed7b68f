//! Owns how cross timestamps are read, and how reading them fails. Fits nothing.

use crate::codes::{Refusal, numbered};
use crate::scenario::CrossKind;
use crate::state::State;
use wirestamp_core::cross::{CrossInvalid, CrossMethod, CrossTimestamp};
use wirestamp_core::interface::{InterfaceDescription, InterfaceIndex};
use wirestamp_core::time::{HardwareTicks, Span, SystemTime};
use wirestamp_core::{Error, ErrorKind, Result};

const OPERATION: &str = "take cross timestamps";
/// What one call takes; Linux: `PTP_MAX_SAMPLES`.
const MOST: usize = 25;

impl State {
    /// Opens the hardware clock of an interface.
    pub(crate) fn open_clock(
        &mut self,
        interface: &InterfaceDescription,
    ) -> Result<InterfaceIndex> {
        const OPERATION: &str = "open the hardware clock";
        self.pass(self.cost.query);
        let place = self.place(interface, OPERATION)?;
        if !self.adapters[place].settings.clock.present {
            return Err(self.refusal(Refusal::NotSupported, OPERATION, place));
        }
        if !self.host.privileged {
            return Err(self.refusal(Refusal::AccessDenied, OPERATION, place));
        }
        Ok(self.adapters[place].index)
    }

    /// Takes up to `count` readings.
    pub(crate) fn cross(
        &mut self,
        index: InterfaceIndex,
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
        let civil = self.adapters[place].settings.cross.civil;
        if civil {
            self.compare_clocks();
        }
        for number in 0..count {
            let Some(triple) = self.read_once(place, method, number == 0) else {
                break;
            };
            match self.as_reading(triple, method, civil) {
                Ok(reading) => readings.push(reading),
                Err(_) => self.invalid_readings += 1,
            }
        }
        if civil && self.compare_clocks().is_some() {
            readings.truncate(before); // as Linux does: over a step, nobody knows on which side they were
        }
        if readings.len() == before {
            let cause =
                "every reading was invalid: a zero in it, or system times that run backwards";
            return Err(
                Error::new(ErrorKind::Io, OPERATION, self.adapters[place].name(), cause)
                    .with_remedy("try again; update the driver if it stays so"),
            );
        }
        Ok(())
    }

    /// What the system's clocks say of one another now, and whether that is news.
    fn compare_clocks(&mut self) -> Option<Span> {
        let Self {
            clocks,
            civil_readings,
            now,
            ..
        } = self;
        let offset = civil_readings.get_or_insert_with(|| clocks.first_offset(*now));
        clocks.observe(offset, *now)
    }

    fn as_reading(
        &self,
        (first, hardware, second): (SystemTime, HardwareTicks, SystemTime),
        method: CrossMethod,
        civil: bool,
    ) -> core::result::Result<CrossTimestamp, CrossInvalid> {
        match &self.civil_readings {
            Some(offset) if civil => {
                let [first, second] = [first, second].map(|at| self.clocks.in_civil_time(at));
                CrossTimestamp::in_civil_time(offset, first, hardware, second, method)
            }
            _ => CrossTimestamp::new(first, hardware, second, method),
        }
    }

    /// By which method, if the system lets it be read now.
    fn may_cross(&mut self, place: usize) -> Result<CrossMethod> {
        let now = self.now;
        let adapter = &mut self.adapters[place];
        let cross = &adapter.settings.cross;
        let method = match cross.method {
            _ if cross.code != 0 => return Err(numbered(cross.code, OPERATION, adapter.name())),
            CrossKind::None => return Err(self.refusal(Refusal::NotSupported, OPERATION, place)),
            CrossKind::Precise => CrossMethod::Precise,
            CrossKind::Extended => CrossMethod::Extended,
            CrossKind::Basic => CrossMethod::Basic,
            CrossKind::Driver => CrossMethod::Driver,
        };
        let too_soon = adapter
            .last_cross
            .is_some_and(|last| now - last < cross.interval.nanoseconds());
        if too_soon || adapter.chance.happens(cross.busy) {
            return Err(self.refusal(Refusal::Busy, OPERATION, place));
        }
        adapter.last_cross = Some(now);
        Ok(method)
    }

    /// The system time that is latched beside the counter, as well as that is done.
    fn latched(&mut self, place: usize) -> SystemTime {
        let adapter = &mut self.adapters[place];
        let most = adapter.settings.cross.latch_error.length();
        let off = match most.nanoseconds() {
            0 => 0,
            _ => adapter.chance.between(most.negated(), most),
        };
        self.clocks.system(self.now.saturating_add(off))
    }

    /// One reading as the driver gives it, valid or not. `None`: the adapter went away.
    fn read_once(
        &mut self,
        place: usize,
        method: CrossMethod,
        is_first: bool,
    ) -> Option<(SystemTime, HardwareTicks, SystemTime)> {
        let adapter = &mut self.adapters[place];
        let cross = &adapter.settings.cross;
        let slow = if is_first {
            adapter.chance.delay(&cross.first)
        } else {
            0
        };
        let forward = adapter.chance.delay(&cross.forward).saturating_add(slow);
        let back = adapter.chance.delay(&cross.back);
        let (forward, back) = adapter.held_up(forward, back);
        let before = self.system_now();
        self.advance_to(self.now.saturating_add(forward));
        let (now, latched) = (self.now, self.latched(place));
        let mut hardware = self.adapters[place]
            .ticks(now)
            .filter(|_| self.adapters[place].present)?;
        self.advance_to(self.now.saturating_add(back));
        let after = self.system_now();
        let (mut first, mut second) = match method {
            CrossMethod::Precise => (latched, latched),
            _ => (before, after),
        };
        let adapter = &mut self.adapters[place];
        let cross = &adapter.settings.cross;
        if cross.equal_brackets {
            second = first;
        }
        if adapter.chance.happens(cross.backwards) {
            (first, second) = (after, before);
        }
        if adapter.chance.happens(cross.zero) {
            hardware = HardwareTicks::new(0);
        }
        Some((first, hardware, second))
    }
}
