//! The bytes of a file: read in full buffers, and the cause of a failure.

use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};

/// The cause of a failure to read, which pcap-parser does not return.
#[derive(Debug, Clone, Default)]
pub(super) struct Fault(Arc<Mutex<Option<String>>>);

impl Fault {
    /// Returns `can't be read on`, with the cause.
    pub(super) fn cause(&self, what: &str) -> String {
        let cause = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*cause {
            Some(cause) => format!("{what}: {cause}"),
            None => what.to_owned(),
        }
    }
}

/// An input that fills the buffer. The first bytes of a pipe may come one by one, and pcap-parser
/// needs the file's header at once.
pub(super) struct Source<'r> {
    /// Boxed, so that pcap-parser is compiled once for all kinds of input.
    input: Box<dyn Read + Send + 'r>,
    fault: Fault,
    /// The error after the bytes that were read last.
    pending: Option<io::Error>,
}

impl<'r> Source<'r> {
    pub(super) fn new(input: impl Read + Send + 'r, fault: Fault) -> Self {
        Self {
            input: Box::new(input),
            fault,
            pending: None,
        }
    }

    fn failed(&self, error: io::Error) -> io::Error {
        let mut cause = self.fault.0.lock().unwrap_or_else(PoisonError::into_inner);
        *cause = Some(error.to_string());
        error
    }
}

impl Read for Source<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(error) = self.pending.take() {
            return Err(self.failed(error));
        }
        let mut filled = 0;
        while filled < buffer.len() {
            match self.input.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // the bytes before it are used first
                Err(error) if filled > 0 => {
                    self.pending = Some(error);
                    break;
                }
                Err(error) => return Err(self.failed(error)),
            }
        }
        Ok(filled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Yields bytes one by one, an interruption, and then a failure, once.
    struct Slow(u8);

    impl Read for Slow {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.0 += 1;
            match self.0 {
                3 => Err(io::ErrorKind::Interrupted.into()),
                1..=5 => {
                    buffer[0] = self.0;
                    Ok(1)
                }
                6 => Err(io::Error::other("a corrupt stream")),
                _ => Ok(0),
            }
        }
    }

    #[test]
    fn short_reads_are_joined_and_a_failure_comes_after_the_bytes_before_it() {
        let fault = Fault::default();
        let mut source = Source::new(Slow(0), fault.clone());
        let mut buffer = [0; 100];
        assert_eq!(source.read(&mut buffer).ok(), Some(4));
        assert_eq!(buffer[..4], [1, 2, 4, 5]);
        assert_eq!(fault.cause("can't be read on"), "can't be read on");
        assert!(source.read(&mut buffer).is_err());
        let cause = fault.cause("can't be read on");
        assert_eq!(cause, "can't be read on: a corrupt stream");
        assert_eq!(source.read(&mut buffer).ok(), Some(0));
    }
}
