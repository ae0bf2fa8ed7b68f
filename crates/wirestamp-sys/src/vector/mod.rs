//! Compiles a loop for several vector extensions, and chooses the processor's widest at run time.

#[cfg(not(target_arch = "x86_64"))]
mod portable;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(not(target_arch = "x86_64"))]
pub use portable::widest;
#[cfg(target_arch = "x86_64")]
pub use x86_64::widest;
