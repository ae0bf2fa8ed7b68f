//! A connection with one deadline for everything that passes over it.

use std::io::{Error, ErrorKind, Read, Result, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// A stream that fails after its deadline, even if the other end still sends an octet now and then.
pub(super) struct Timed {
    stream: TcpStream,
    end: Instant,
}

impl Timed {
    pub(super) fn new(stream: TcpStream, end: Instant) -> Self {
        Self { stream, end }
    }

    fn left(&self) -> Result<Option<Duration>> {
        let left = self.end.saturating_duration_since(Instant::now());
        match left.is_zero() {
            true => Err(Error::from(ErrorKind::TimedOut)),
            false => Ok(Some(left)),
        }
    }
}

impl Read for Timed {
    fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        self.stream.set_read_timeout(self.left()?)?;
        self.stream.read(into)
    }
}

impl Write for Timed {
    fn write(&mut self, from: &[u8]) -> Result<usize> {
        self.stream.set_write_timeout(self.left()?)?;
        self.stream.write(from)
    }

    fn flush(&mut self) -> Result<()> {
        self.stream.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::thread;

    /// With a timeout per read, the other end could go on for ever.
    #[test]
    fn a_server_that_sends_an_octet_now_and_then_is_not_waited_for() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
        let address = listener.local_addr().expect("bound");
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("it connects");
            while stream.write_all(&[0]).is_ok() {
                thread::sleep(Duration::from_millis(20));
            }
        });
        let stream = TcpStream::connect(address).expect("connected");
        let mut timed = Timed::new(stream, Instant::now() + Duration::from_millis(200));
        let mut octets = 0_u32;
        let error = loop {
            match timed.read(&mut [0; 1]) {
                Ok(_) => octets += 1,
                Err(error) => break error,
            }
            assert!(octets < 1_000, "it is waited for");
        };
        let is_over = [ErrorKind::TimedOut, ErrorKind::WouldBlock].contains(&error.kind());
        assert!(is_over && octets > 0, "{error} after {octets}");
    }
}
