//! The monitor on a thread of its own, and the handle by which others ask it.

use crate::configuration::Configuration;
use crate::events::Events;
use crate::monitor::Monitor;
use crate::place::Place;
use crate::snapshot::{Reasons, Snapshot};
use std::net::{Ipv4Addr, UdpSocket as Waker};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;
use wirestamp::{Error, ErrorKind, Result, Span};

/// A simulated monitor looks for requests so often.
const STEP: Duration = Duration::from_millis(5);

/// So much virtual time passes at most until the next look for requests.
const LONGEST_STEP: Span = Span::from_milliseconds(100);

enum Command {
    Snapshot(oneshot::Sender<Box<Snapshot>>),
    Reload(Box<Configuration>),
    RefuseReload(String),
    Stop,
}

/// The monitor has ended, and answers no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended;

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the monitor has ended")
    }
}

impl std::error::Error for Ended {}

/// Asks a running monitor. Clones ask the same one.
#[derive(Debug, Clone)]
pub struct Handle {
    commands: Sender<Command>,
    /// Ends the loop's wait. A simulated loop does not wait for it.
    waker: Option<Arc<Waker>>,
    events: Events,
    turns: Arc<AtomicU64>,
    /// Pushes of metrics by result.
    pushes: Arc<Mutex<Reasons>>,
    /// Series that the limit kept out of metrics.
    left_out: Arc<AtomicU64>,
}

impl Handle {
    /// Returns what the monitor knows when it answers.
    ///
    /// # Errors
    /// [`Ended`].
    pub async fn snapshot(&self) -> Result<Box<Snapshot>, Ended> {
        let (sender, receiver) = oneshot::channel();
        self.tell(Command::Snapshot(sender))?;
        receiver
            .await
            .map(|snapshot| self.with_counts(snapshot))
            .map_err(|_| Ended)
    }

    /// Waits for what the monitor knows: see [`snapshot`](Self::snapshot). Not for asynchronous code.
    ///
    /// # Errors
    /// [`Ended`].
    pub fn wait_snapshot(&self) -> Result<Box<Snapshot>, Ended> {
        let (sender, receiver) = oneshot::channel();
        self.tell(Command::Snapshot(sender))?;
        receiver
            .blocking_recv()
            .map(|snapshot| self.with_counts(snapshot))
            .map_err(|_| Ended)
    }

    /// Goes over to another configuration: what both ask for runs on.
    ///
    /// # Errors
    /// [`Ended`]. A wrong configuration is refused by the monitor, with an event.
    pub fn reload(&self, configuration: Configuration) -> Result<(), Ended> {
        self.tell(Command::Reload(Box::new(configuration)))
    }

    /// Notes that a new configuration could not be read; the old one runs on.
    ///
    /// # Errors
    /// [`Ended`].
    pub fn refuse_reload(&self, why: String) -> Result<(), Ended> {
        self.tell(Command::RefuseReload(why))
    }

    /// Returns how many turns the monitor's loop has made: it grows while the monitor lives.
    pub fn turns(&self) -> u64 {
        self.turns.load(Ordering::Relaxed)
    }

    fn with_counts(&self, mut snapshot: Box<Snapshot>) -> Box<Snapshot> {
        let pushes = self.pushes.lock().unwrap_or_else(PoisonError::into_inner);
        snapshot.own.pushes.clone_from(&pushes);
        snapshot.own.series_left_out = self.left_out.load(Ordering::Relaxed);
        snapshot
    }

    pub(crate) fn count_left_out(&self, series: u64) {
        self.left_out.fetch_add(series, Ordering::Relaxed);
    }

    #[cfg(feature = "otlp")]
    pub(crate) fn count_push(&self, result: &str) {
        let mut pushes = self.pushes.lock().unwrap_or_else(PoisonError::into_inner);
        *pushes.entry(result.to_owned()).or_default() += 1;
    }

    pub(crate) fn events(&self) -> &Events {
        &self.events
    }

    fn tell(&self, command: Command) -> Result<(), Ended> {
        self.commands.send(command).map_err(|_| Ended)?;
        if let Some(waker) = &self.waker {
            // a full queue wakes as well
            let _ = waker.send(&[0]);
        }
        Ok(())
    }
}

/// A monitor on a thread of its own. Dropping it ends the monitor, and waits for that.
#[derive(Debug)]
pub struct Service {
    handle: Handle,
    thread: Option<JoinHandle<()>>,
}

impl Service {
    /// Starts a monitor. In a simulation, virtual time passes as real time does.
    ///
    /// # Errors
    /// As [`Monitor::new`].
    pub fn start(configuration: Configuration, place: Place) -> Result<Self> {
        let (commands, received) = channel();
        let (started, start) = channel();
        let run = move || match Monitor::new(configuration, place)
            .and_then(|monitor| Ok((waker(&monitor)?, monitor)))
        {
            Ok((waker, monitor)) => {
                let turns = Arc::new(AtomicU64::new(0));
                let _ = started.send(Ok((waker.clone(), monitor.events(), Arc::clone(&turns))));
                serve(monitor, &received, &turns, waker.is_none());
            }
            Err(error) => {
                let _ = started.send(Err(error));
            }
        };
        let failed =
            |cause: String| Error::new(ErrorKind::Io, "start the monitor", "its thread", cause);
        let thread = thread::Builder::new()
            .name("wirestamp-monitor".into())
            .spawn(run)
            .map_err(|error| failed(error.to_string()))?;
        let (waker, events, turns) = start
            .recv()
            .map_err(|_| failed("it ended at once".into()))??;
        Ok(Self {
            handle: Handle {
                commands,
                waker,
                events,
                turns,
                pushes: Arc::default(),
                left_out: Arc::default(),
            },
            thread: Some(thread),
        })
    }

    /// Returns a handle to ask it.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Returns whether it still runs.
    pub fn is_running(&self) -> bool {
        self.thread
            .as_ref()
            .is_some_and(|thread| !thread.is_finished())
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.handle.tell(Command::Stop);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A socket that ends the loop's wait: only what it sends reaches the monitor's.
fn waker(monitor: &Monitor) -> Result<Option<Arc<Waker>>> {
    if monitor.is_simulated() {
        return Ok(None);
    }
    let failed = |error: std::io::Error| {
        Error::new(
            ErrorKind::Io,
            "start the monitor",
            "a loopback socket",
            error.to_string(),
        )
    };
    let waker = Waker::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed)?;
    waker.set_nonblocking(true).map_err(failed)?;
    waker
        .connect(monitor.clock().local_address()?)
        .map_err(failed)?;
    monitor
        .clock()
        .connect(waker.local_addr().map_err(failed)?)?;
    Ok(Some(Arc::new(waker)))
}

fn serve(mut monitor: Monitor, commands: &Receiver<Command>, turns: &AtomicU64, simulated: bool) {
    let (begun, virtual_begun) = (Instant::now(), monitor.now());
    loop {
        let next = monitor.serve();
        turns.fetch_add(1, Ordering::Relaxed);
        if obey(&mut monitor, commands) {
            return;
        }
        let waited = if simulated {
            thread::sleep(STEP);
            // a simulation that is slower than real time still answers
            let until = virtual_begun + Span::from(begun.elapsed());
            monitor.run_until(until.min(monitor.now() + LONGEST_STEP))
        } else {
            monitor.wait(next)
        };
        if let Err(error) = waited {
            tracing::error!("{error}");
            thread::sleep(STEP);
        }
    }
}

/// Whether it shall end.
fn obey(monitor: &mut Monitor, commands: &Receiver<Command>) -> bool {
    loop {
        match commands.try_recv() {
            Ok(Command::Snapshot(reader)) => {
                let _ = reader.send(Box::new(monitor.snapshot()));
            }
            // what is wrong with it is told by an event
            Ok(Command::Reload(configuration)) => drop(monitor.reload(*configuration)),
            Ok(Command::RefuseReload(why)) => monitor.refuse_reload(&why),
            Ok(Command::Stop) | Err(TryRecvError::Disconnected) => return true,
            Err(TryRecvError::Empty) => return false,
        }
    }
}
