//! Checks of a capture's options that do not depend on the operating system.

use super::{CaptureOptions, OPERATION};
use crate::error::{Error, ErrorKind, Result};
use crate::interface::InterfaceDescription;
use core::ops::RangeInclusive;

/// The allowed size of a block in bytes.
const BLOCK: RangeInclusive<usize> = 4_096..=1 << 30;
/// The largest buffer in bytes.
const MOST: u64 = 1 << 36;
/// The allowed number of captures that share the packets of an interface.
const SHARED: RangeInclusive<usize> = 1..=256;

/// The division of a capture's buffer into blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blocks {
    /// The size of each block in bytes.
    pub size: u32,
    /// The number of blocks.
    pub count: u32,
}

impl CaptureOptions {
    /// Returns the division of the buffer into blocks.
    ///
    /// # Errors
    /// `InvalidInput` for invalid sizes.
    pub fn blocks(&self, interface: &InterfaceDescription) -> Result<Blocks> {
        let wrong = |cause| Err(invalid(interface, cause));
        let (block, buffer) = (self.block, self.buffer);
        if !block.is_power_of_two() || !BLOCK.contains(&block) {
            return wrong("the size of a block must be a power of two, from 4 KiB to 1 GiB");
        }
        if buffer < 2 * block || buffer as u64 > MOST {
            return wrong("the buffer must hold at least two blocks, and be no larger than 64 GiB");
        }
        if self.snap_length == 0 {
            return wrong("a snap length of 0 captures nothing");
        }
        Ok(Blocks {
            size: block as u32,
            count: u32::try_from(buffer / block).unwrap_or(u32::MAX),
        })
    }

    /// Returns the filter expression; `None` if it is blank.
    pub fn expression(&self) -> Option<&str> {
        let expression = self.filter.as_deref();
        expression.filter(|text| !text.trim().is_empty())
    }

    /// Checks that `count` captures can share the packets of an interface.
    ///
    /// # Errors
    /// `InvalidInput` if they cannot.
    pub fn check_count(count: usize, interface: &InterfaceDescription) -> Result<()> {
        if SHARED.contains(&count) {
            return Ok(());
        }
        let cause = "the packets of an interface can be divided among 1 to 256 captures";
        Err(invalid(interface, cause))
    }
}

fn invalid(interface: &InterfaceDescription, cause: &'static str) -> Error {
    Error::new(ErrorKind::InvalidInput, OPERATION, &interface.name, cause)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interface::InterfaceIndex;

    fn interface() -> InterfaceDescription {
        InterfaceDescription::new("eth0", InterfaceIndex::new(2).expect("not zero"))
    }

    #[test]
    fn the_buffer_is_divided_into_blocks() {
        let options = CaptureOptions::new().block(1 << 14).buffer(3 << 14);
        let blocks = options.blocks(&interface()).expect("makes sense");
        assert_eq!((blocks.size, blocks.count), (1 << 14, 3));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for options in [
            CaptureOptions::new().block(3_000),
            CaptureOptions::new().block(2_048),
            CaptureOptions::new().buffer(1 << 20),
            CaptureOptions::new().snap_length(0),
        ] {
            let error = options.blocks(&interface()).expect_err("refused");
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
        }
        for count in [0, 257] {
            assert!(CaptureOptions::check_count(count, &interface()).is_err());
        }
        assert!(CaptureOptions::check_count(256, &interface()).is_ok());
    }

    #[test]
    fn a_filter_without_words_is_none() {
        assert_eq!(CaptureOptions::new().filter(" ").expression(), None);
        let udp = CaptureOptions::new().filter("udp");
        assert_eq!(udp.expression(), Some("udp"));
    }
}
