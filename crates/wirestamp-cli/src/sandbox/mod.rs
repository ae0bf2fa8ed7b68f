//! Takes away what a long-running command does not need: capabilities, files and system calls. What
//! parses packets from the network shall be of no use to whoever finds a hole in it.
//!
//! [`Sandbox::enter`] comes before the first thread, because capabilities and file rights belong to
//! threads, and threads inherit them. [`Sandbox::close`] comes once sockets and clocks are open, and
//! filters the system calls of all threads.

#[cfg(target_os = "linux")]
mod calls;
#[cfg(target_os = "linux")]
mod capabilities;
#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(target_os = "linux")]
mod files;
#[cfg(target_os = "linux")]
mod linux;
mod needs;
#[cfg(all(test, target_os = "linux"))]
mod tests;

#[cfg(not(target_os = "linux"))]
pub(crate) use elsewhere::Sandbox;
#[cfg(target_os = "linux")]
pub(crate) use linux::Sandbox;
pub(crate) use needs::Needs;
