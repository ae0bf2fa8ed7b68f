//! For which processor a loop is compiled. Knows nothing of what the loop does.

#[cfg(not(target_arch = "x86_64"))]
mod portable;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(not(target_arch = "x86_64"))]
pub use portable::widest;
#[cfg(target_arch = "x86_64")]
pub use x86_64::widest;
