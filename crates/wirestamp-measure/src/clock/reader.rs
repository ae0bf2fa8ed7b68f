//! Readings of the clock that is behind an interface now.

use crate::bounded::Bounded;
use crate::reading::ClockReading;
use crate::recorded::Batch;
use wirestamp::{Error, ErrorKind, Frequency, HardwareClock, Interface, Result, Span};

/// How often a clock is read where the best reading counts: the first is often delayed.
const TRIES: usize = 5;

/// Reads an interface's clock; where another one is behind the interface meanwhile, that one.
pub(super) struct Reader {
    interface: Interface,
    /// `None`: there was none when it was looked for.
    clock: Option<Opened>,
    /// Whether no reading has said yet that the clock is another one.
    is_another: bool,
}

struct Opened {
    clock: HardwareClock,
    nominal: Option<Frequency>,
}

impl Reader {
    pub(super) fn new(interface: Interface) -> Self {
        Self {
            interface,
            clock: None,
            is_another: false,
        }
    }

    pub(super) fn interface(&self) -> &Interface {
        &self.interface
    }

    /// Opens the clock, if it is not open.
    pub(super) fn open(&mut self) -> Result<&HardwareClock> {
        let opened = match self.clock.take() {
            Some(opened) => opened,
            None => Opened {
                clock: self.interface.hardware_clock()?,
                nominal: self.nominal(),
            },
        };
        Ok(&self.clock.insert(opened).clock)
    }

    /// What the driver says, where the system can ask it.
    fn nominal(&self) -> Option<Frequency> {
        let supported = self.interface.supported().ok()?;
        supported.nominal_frequency
    }

    /// # Errors
    /// `NoSuchDevice` while no clock is behind the interface; that of the reading. A later reading may succeed.
    pub(super) fn read(&mut self) -> Result<ClockReading> {
        self.with_clock(Self::reading)
    }

    /// Yields readings in quick succession.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub(super) fn read_batch<T>(
        &mut self,
        count: usize,
        take: impl FnOnce(&Batch<'_>) -> T,
    ) -> Result<T> {
        let readings = self.with_clock(|reader| reader.open()?.cross_timestamps(count))?;
        Ok(take(&Batch {
            readings: &readings,
            is_another: std::mem::take(&mut self.is_another),
            system: self.open()?.system_frequency(),
            nominal: self.nominal_of_clock(),
        }))
    }

    /// A clock that counts nanoseconds minus UTC, by the best of some readings. `Some(None)`: it could not be read; `None`: it was not read before, or the
    /// width of its readings is not known.
    pub(super) fn offset_to_utc(&self) -> Option<Option<Bounded<Span>>> {
        let clock = &self.clock.as_ref()?.clock;
        let mut best: Option<Bounded<Span>> = None;
        for _ in 0..TRIES {
            let before = self.interface.utc_cross_timestamp();
            let Ok(cross) = clock.cross_timestamp() else {
                continue; // another program may read it
            };
            cross.bracket()?;
            let reading = ClockReading {
                cross,
                around: [before, self.interface.utc_cross_timestamp()],
                interface: self.interface.index(),
                nominal: Some(Frequency::GIGAHERTZ),
                is_another: false,
            };
            let read = reading.offset_to_utc();
            best = best.into_iter().chain(read).min_by_key(|one| one.bound);
        }
        Some(best)
    }

    /// The next reading looks which clock is behind the interface.
    pub(super) fn forget(&mut self) {
        self.clock = None;
    }

    /// Reads the clock that is open, or the one that is behind the interface instead of it. One that is back after it was gone is another one.
    fn with_clock<T>(&mut self, read: impl Fn(&mut Self) -> Result<T>) -> Result<T> {
        if self.clock.is_some() {
            match read(self) {
                Err(error) if error.kind() == ErrorKind::NoSuchDevice => {
                    (self.clock, self.is_another) = (None, true);
                }
                read => return read,
            }
        }
        let looked = self.look().and_then(|()| read(self));
        let is_gone = |error: &Error| error.kind() == ErrorKind::NoSuchDevice;
        self.is_another |= looked.as_ref().is_err_and(is_gone);
        looked
    }

    /// Looks which clock is behind the interface now: a bond may have had none for a while.
    fn look(&mut self) -> Result<()> {
        let behind = |interface: &Interface| {
            let number = interface.description().hardware_clock;
            (interface.index(), number)
        };
        let before = behind(&self.interface);
        self.interface.refresh()?;
        self.is_another |= behind(&self.interface) != before;
        Ok(())
    }

    fn nominal_of_clock(&self) -> Option<Frequency> {
        self.clock.as_ref().and_then(|opened| opened.nominal)
    }

    fn reading(&mut self) -> Result<ClockReading> {
        self.open()?;
        let before = self.interface.utc_cross_timestamp();
        let cross = self.open()?.cross_timestamp()?;
        Ok(ClockReading {
            cross,
            around: [before, self.interface.utc_cross_timestamp()],
            interface: self.interface.index(),
            nominal: self.nominal_of_clock(),
            is_another: std::mem::take(&mut self.is_another),
        })
    }
}
