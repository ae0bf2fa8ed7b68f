//! Reads the clock that is behind an interface now.

use crate::reading::ClockReading;
use crate::recorded::Batch;
use wirestamp::time::Frequency;
use wirestamp::{Error, ErrorKind, HardwareClock, Interface, Result};

/// A reader of an interface's clock. If another clock is behind the interface meanwhile, it reads that one.
pub(super) struct Reader {
    interface: Interface,
    /// `None` if there was none at the last check.
    clock: Option<Opened>,
    /// Whether no reading has said yet that the clock is another one.
    is_another: bool,
}

struct Opened {
    clock: HardwareClock,
    /// The driver's statement, where the system can ask for it.
    nominal: Option<Frequency>,
}

impl Opened {
    fn of(interface: &Interface) -> Result<Self> {
        let supported = interface.supported().ok();
        Ok(Self {
            clock: interface.hardware_clock()?,
            nominal: supported.and_then(|supported| supported.nominal_frequency),
        })
    }

    fn read(&self, interface: &Interface) -> Result<ClockReading> {
        let before = interface.utc_cross_timestamp();
        Ok(ClockReading {
            cross: self.clock.cross_timestamp()?,
            around: [before, interface.utc_cross_timestamp()],
            interface: interface.index(),
            nominal: self.nominal,
            is_another: false,
        })
    }
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
    pub(super) fn open(&mut self) -> Result<()> {
        self.opened().map(drop)
    }

    fn opened(&mut self) -> Result<(&Opened, &Interface)> {
        let opened = match self.clock.take() {
            Some(opened) => opened,
            None => Opened::of(&self.interface)?,
        };
        Ok((self.clock.insert(opened), &self.interface))
    }

    /// # Errors
    /// `NoSuchDevice` while no clock is behind the interface, or the error of the reading. A later reading may succeed.
    pub(super) fn read(&mut self) -> Result<ClockReading> {
        let read = self.with_clock(Opened::read)?;
        let is_another = std::mem::take(&mut self.is_another);
        Ok(ClockReading { is_another, ..read })
    }

    /// Reads the clock if it is open; otherwise returns `None`.
    pub(super) fn read_opened(&self) -> Option<Result<ClockReading>> {
        let opened = self.clock.as_ref()?;
        Some(opened.read(&self.interface))
    }

    /// Returns readings in quick succession.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub(super) fn read_batch<T>(
        &mut self,
        count: usize,
        take: impl FnOnce(&Batch<'_>) -> T,
    ) -> Result<T> {
        let read = |opened: &Opened, _: &Interface| {
            let readings = opened.clock.cross_timestamps(count)?;
            Ok((readings, opened.clock.system_frequency(), opened.nominal))
        };
        let (readings, system, nominal) = self.with_clock(read)?;
        Ok(take(&Batch {
            readings: &readings,
            is_another: std::mem::take(&mut self.is_another),
            system,
            nominal,
        }))
    }

    /// Makes the next reading check which clock is behind the interface.
    pub(super) fn forget(&mut self) {
        self.clock = None;
    }

    /// Reads the clock that is open, or the one that is behind the interface instead of it. One that is back after it was gone is another one.
    fn with_clock<T>(&mut self, read: impl Fn(&Opened, &Interface) -> Result<T>) -> Result<T> {
        if let Some(opened) = &self.clock {
            match read(opened, &self.interface) {
                Err(error) if error.kind() == ErrorKind::NoSuchDevice => {
                    (self.clock, self.is_another) = (None, true);
                }
                read => return read,
            }
        }
        let looked = self.look().and_then(|()| {
            let (opened, interface) = self.opened()?;
            read(opened, interface)
        });
        let is_gone = |error: &Error| error.kind() == ErrorKind::NoSuchDevice;
        self.is_another |= looked.as_ref().is_err_and(is_gone);
        looked
    }

    /// Finds the clock that is behind the interface now, and the interface's addresses: a bond may have had no clock
    /// for a while.
    ///
    /// # Errors
    /// `NoSuchDevice` if the interface is gone.
    pub(super) fn look(&mut self) -> Result<()> {
        let behind = |interface: &Interface| {
            let number = interface.description().hardware_clock;
            (interface.index(), number)
        };
        let before = behind(&self.interface);
        self.interface.refresh()?;
        self.is_another |= behind(&self.interface) != before;
        Ok(())
    }
}
