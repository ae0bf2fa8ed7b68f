//! Asks Windows what no document answers, by its own functions and without wirestamp, and prints
//! the answers. `scripts/windows/verify.ps1` runs it. Changes no setting.
//!
//! usage: `windows_probe [ADAPTER [PEER]]`
//!
//! ADAPTER is one's name; PEER an echo service at its other end, as ADDRESS:PORT. The numbers
//! before the answers are those of the open questions in PLATFORM.md.

#[cfg(windows)]
mod adapters;
#[cfg(windows)]
mod call;
#[cfg(windows)]
mod sockets;

#[cfg(windows)]
fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (adapter, peer) = (arguments.next(), arguments.next());
    adapters::ask(adapter.as_deref())?;
    sockets::ask(adapter.as_deref(), peer.as_deref())
}

#[cfg(not(windows))]
#[allow(clippy::print_stderr, reason = "a program for people")]
fn main() {
    eprintln!("this asks Windows, and this is none");
}
