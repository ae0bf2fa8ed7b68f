//! What stands for captures on systems that have none: never made.

use std::convert::Infallible;
use std::marker::PhantomData;
use wirestamp_core::Result;
use wirestamp_core::capture::{
    self, CaptureOptions, CaptureStatistics, CapturedDirection, Fanout, LinkType,
};
use wirestamp_core::correlate::Estimate;
use wirestamp_core::ethernet::VlanTag;
use wirestamp_core::interface::InterfaceDescription;
use wirestamp_core::time::{MonotonicTime, Utc, UtcTime};
use wirestamp_core::timestamp::{SoftwareTimestamp, Timestamps};

/// Never made: there are no captures on this system.
#[derive(Debug)]
pub struct Capture(Infallible);

/// Never made.
#[derive(Debug)]
pub struct Block<'a>(Infallible, PhantomData<&'a ()>);

/// Never made.
#[derive(Debug, Clone, Copy)]
pub struct Captured<'a>(Infallible, PhantomData<&'a ()>);

impl Capture {
    /// Says that there are none, and where there are.
    ///
    /// # Errors
    /// Always `NotSupported`.
    pub fn open(interface: &InterfaceDescription, _: &CaptureOptions) -> Result<Self> {
        Err(capture::refused(interface))
    }

    /// Likewise.
    ///
    /// # Errors
    /// Always `NotSupported`.
    pub fn open_several(
        interface: &InterfaceDescription,
        _: &CaptureOptions,
        _: usize,
        _: Fanout,
    ) -> Result<Vec<Self>> {
        Err(capture::refused(interface))
    }

    /// Can't be called.
    pub fn link_type(&self) -> LinkType {
        match self.0 {}
    }

    /// Can't be called.
    ///
    /// # Errors
    /// None.
    pub fn next_block(&mut self, _: MonotonicTime) -> Result<Option<Block<'_>>> {
        match self.0 {}
    }

    /// Can't be called.
    ///
    /// # Errors
    /// None.
    pub fn statistics(&mut self) -> Result<CaptureStatistics> {
        match self.0 {}
    }
}

impl Block<'_> {
    /// Can't be called.
    pub fn packets(&self) -> impl Iterator<Item = Captured<'_>> {
        std::iter::once_with(|| match self.0 {})
    }

    /// Can't be called.
    pub fn count(&self) -> u32 {
        match self.0 {}
    }
}

impl<'a> Captured<'a> {
    /// Can't be called.
    pub fn data(&self) -> &'a [u8] {
        match self.0 {}
    }

    /// Can't be called.
    pub fn length(&self) -> u32 {
        match self.0 {}
    }

    /// Can't be called.
    pub fn vlan(&self) -> Option<(u16, VlanTag)> {
        match self.0 {}
    }

    /// Can't be called.
    pub fn time(&self) -> Option<UtcTime> {
        match self.0 {}
    }

    /// Can't be called.
    pub fn is_hardware(&self) -> bool {
        match self.0 {}
    }

    /// Can't be called.
    pub fn direction(&self) -> CapturedDirection {
        match self.0 {}
    }

    /// Can't be called.
    pub fn timestamps(&self) -> Timestamps {
        match self.0 {}
    }

    /// Can't be called.
    pub fn software_utc(&self, _: &SoftwareTimestamp) -> Option<Estimate<Utc>> {
        match self.0 {}
    }
}
