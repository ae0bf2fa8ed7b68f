//! The connection to `wirestamp-win32` in this process that steers its NICs and tells
//! the truth about them: one line a request, one a reply. What is said is in `host`.

use super::host::Course;
use crate::{Outcome, Stop};
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{env, fs, thread};
use wirestamp::MonotonicTime;

/// Names the file into which the port is written; see `forward/steering.rs` there.
pub(super) const VARIABLE: &str = "WIRESTAMP_WIN32_STEERING";
const PATIENCE: Duration = Duration::from_secs(10);

/// The connection.
#[derive(Debug)]
pub(crate) struct Steering(Mutex<BufReader<TcpStream>>);

impl Steering {
    /// Connects, once the NICs were asked for.
    pub(super) fn connect() -> Outcome<Self> {
        let file =
            env::var_os(VARIABLE).ok_or_else(|| Stop::Failed(format!("{VARIABLE} is not set")))?;
        let failed = |error| Stop::Failed(format!("the model can't be steered: {error}"));
        let stream =
            TcpStream::connect((Ipv4Addr::LOCALHOST, port(Path::new(&file))?)).map_err(failed)?;
        stream.set_nodelay(true).map_err(failed)?;
        stream.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
        Ok(Self(Mutex::new(BufReader::new(stream))))
    }

    /// # Panics
    /// If the model does not answer: then nothing that follows would say anything.
    fn ask(&self, request: &str) -> String {
        let mut stream = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut reply = String::new();
        let asked = stream
            .get_mut()
            .write_all(format!("{request}\n").as_bytes());
        let answered = asked.and_then(|()| stream.read_line(&mut reply));
        assert!(
            matches!(answered, Ok(1..)),
            "the model does not answer to {request:?}: {answered:?}"
        );
        assert_ne!(
            reply.trim_end(),
            "what?",
            "the model does not understand {request:?}"
        );
        reply.trim_end().to_owned()
    }

    pub(super) fn act(&self, request: &str) {
        assert_eq!(self.ask(request), "done", "{request}");
    }

    pub(super) fn number<T: FromStr>(&self, request: &str) -> Option<T> {
        parsed(&self.ask(request))
    }

    pub(super) fn time(&self, request: &str) -> Option<MonotonicTime> {
        self.number(request).map(MonotonicTime::from_nanoseconds)
    }

    pub(super) fn course(&self, request: &str) -> Option<Course> {
        let reply = self.ask(request);
        let times: Vec<_> = reply
            .split(' ')
            .map(|word| parsed(word).map(MonotonicTime::from_nanoseconds))
            .collect();
        let [
            Some(sent_at),
            Some(transmit_software_at),
            transmit_hardware_at,
            receive_hardware_at,
            receive_software_at,
            delivered_at,
        ] = times[..]
        else {
            return None;
        };
        Some(Course {
            sent_at,
            transmit_software_at,
            transmit_hardware_at,
            receive_hardware_at,
            receive_software_at,
            delivered_at,
        })
    }
}

/// `-` is nothing.
fn parsed<T: FromStr>(word: &str) -> Option<T> {
    let number = word.parse().ok();
    assert!(
        number.is_some() || word == "-",
        "the model answers {word:?}"
    );
    number
}

/// The port, as soon as it is told.
fn port(file: &Path) -> Outcome<u16> {
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        if let Some(port) = fs::read_to_string(file)
            .ok()
            .and_then(|text| text.parse().ok())
        {
            return Ok(port);
        }
        thread::sleep(Duration::from_millis(1));
    }
    Err(Stop::Failed(String::from(
        "the model does not tell where it can be steered",
    )))
}
