//! A program without std that uses wirestamp-core. Is built, never run.

#![no_std]

#[cfg(feature = "std")]
extern crate std;

use core::alloc::{GlobalAlloc, Layout};
use core::panic::PanicInfo;
use core::ptr;
use wirestamp_core::time::MonotonicTime;
use wirestamp_core::timestamp::{Matcher, TransmitAnswer, TransmitId};

/// Has no memory.
struct NoMemory;

// SAFETY: a null pointer says that there is no memory, and nothing is ever freed.
unsafe impl GlobalAlloc for NoMemory {
    unsafe fn alloc(&self, _: Layout) -> *mut u8 {
        ptr::null_mut()
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}

#[global_allocator]
static MEMORY: NoMemory = NoMemory;

/// std has one too: linking both is an error (E0152).
#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    loop {}
}

/// Makes the linker keep code of wirestamp-core.
#[unsafe(no_mangle)]
pub extern "C" fn is_pending(id: u32) -> bool {
    let now = MonotonicTime::from_nanoseconds(0);
    Matcher::new().fetch(TransmitId(id), now) == TransmitAnswer::Pending
}
