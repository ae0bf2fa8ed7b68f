//! A data race: scripts/sanitizers shows with it that ThreadSanitizer is on. Never part
//! of a release.

use std::cell::UnsafeCell;
use std::thread;

struct Shared(UnsafeCell<u32>);
// SAFETY: none: this is the fault to be found.
unsafe impl Sync for Shared {}

static COUNT: Shared = Shared(UnsafeCell::new(0));

fn count() {
    // SAFETY: none, as above.
    unsafe { *COUNT.0.get() += 1 }
}

fn main() {
    let other = thread::spawn(count);
    count();
    other.join().expect("no panic");
}
