//! Runs the monitor on a thread of its own, with a handle for requests.

mod answers;
mod health;
mod reload;

pub use health::Health;

use crate::configuration::Configuration;
use crate::events::Events;
use crate::monitor::Monitor;
use crate::snapshot::{Reasons, Snapshot};
use answers::{Answers, Asker};
use health::Pulse;
use reload::Reload;
use std::future::Future as _;
use std::net::{Ipv4Addr, UdpSocket as Waker};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake};
use std::thread::{self, JoinHandle, Thread};
use std::time::{Duration, Instant};
use wirestamp::{Error, ErrorKind, Result, Span};
use wirestamp_measure::Place;

/// The interval at which a simulated monitor checks for requests.
const STEP: Duration = Duration::from_millis(5);

/// The most virtual time between two checks for requests.
const LONGEST_STEP: Span = Span::from_milliseconds(100);

enum Command {
    Reload(Reload),
    RefuseReload(String),
    Stop,
}

/// The monitor has ended and answers no requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended;

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the monitor has ended")
    }
}

impl std::error::Error for Ended {}

/// A handle to a running monitor. Clones belong to the same monitor.
#[derive(Debug, Clone)]
pub struct Handle {
    commands: Sender<Command>,
    asker: Asker,
    /// Ends the loop's wait. A simulated loop does not wait for it.
    waker: Option<Arc<Waker>>,
    events: Events,
    pulse: Arc<Pulse>,
    counts: Arc<Counts>,
}

/// Counts for the snapshots that are not made by the loop.
#[derive(Debug, Default)]
struct Counts {
    /// Pushes of metrics by result.
    pushes: Mutex<Reasons>,
    /// Series that the limit kept out of metrics.
    left_out: AtomicU64,
}

impl Handle {
    /// Returns a snapshot of the results. Concurrent callers get the same one. Snapshots take at most a fifth of the
    /// loop's time, however many callers there are.
    ///
    /// # Errors
    /// [`Ended`].
    pub async fn snapshot(&self) -> Result<Arc<Snapshot>, Ended> {
        self.asker.ask(|| self.wake()).await.ok_or(Ended)
    }

    /// Waits for a snapshot: see [`snapshot`](Self::snapshot). Not for asynchronous code.
    ///
    /// # Errors
    /// [`Ended`].
    pub fn wait_snapshot(&self) -> Result<Arc<Snapshot>, Ended> {
        let mut asked = pin!(self.snapshot());
        let waker = Arc::new(Unpark(thread::current())).into();
        let mut context = Context::from_waker(&waker);
        loop {
            match asked.as_mut().poll(&mut context) {
                Poll::Ready(answer) => return answer,
                Poll::Pending => thread::park(),
            }
        }
    }

    /// Applies another configuration and waits until that is done. Measurements in both run on.
    ///
    /// # Errors
    /// As [`Monitor::reload`], and `Io` if the monitor has ended or does not begin within ten seconds: the old
    /// configuration stays, and an event reports it.
    pub fn reload(&self, configuration: Configuration) -> Result<()> {
        let (reload, asked) = reload::ask(configuration);
        self.tell(Command::Reload(reload))
            .map_err(|ended| reload::failed(ended.to_string()))?;
        asked.wait(reload::PATIENCE)
    }

    /// Adds an event that a new configuration could not be read; the old one stays.
    ///
    /// # Errors
    /// [`Ended`].
    pub fn refuse_reload(&self, why: String) -> Result<(), Ended> {
        self.tell(Command::RefuseReload(why))
    }

    /// Returns how many turns the monitor's loop has made. The number grows while the monitor lives.
    pub fn turns(&self) -> u64 {
        self.pulse.turns()
    }

    /// Returns the monitor's health without asking the loop.
    pub fn health(&self) -> Health {
        self.pulse.health()
    }

    /// Returns how many snapshots were made.
    #[cfg(test)]
    pub(crate) fn snapshots(&self) -> u64 {
        self.asker.snapshots()
    }

    pub(crate) fn count_left_out(&self, series: u64) {
        self.counts.left_out.fetch_add(series, Ordering::Relaxed);
    }

    #[cfg(feature = "otlp")]
    pub(crate) fn count_push(&self, result: &str) {
        let pushes = self.counts.pushes.lock();
        let mut pushes = pushes.unwrap_or_else(PoisonError::into_inner);
        *pushes.entry(result.to_owned()).or_default() += 1;
    }

    pub(crate) fn events(&self) -> &Events {
        &self.events
    }

    fn tell(&self, command: Command) -> Result<(), Ended> {
        self.commands.send(command).map_err(|_| Ended)?;
        self.wake();
        Ok(())
    }

    fn wake(&self) {
        if let Some(waker) = &self.waker {
            // a full queue wakes as well
            let _ = waker.send(&[0]);
        }
    }
}

/// Wakes a thread that waits for a future.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// A monitor on a thread of its own. Dropping it ends the monitor and waits for its end.
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
        let (asker, answers) = answers::channel();
        let (started, start) = channel();
        let (pulse, counts) = (Arc::new(Pulse::new()), Arc::<Counts>::default());
        let (shared, counted) = (Arc::clone(&pulse), Arc::clone(&counts));
        let run = move || match Monitor::new(configuration, place)
            .and_then(|monitor| Ok((waker(&monitor)?, monitor)))
        {
            Ok((waker, monitor)) => {
                let is_simulated = waker.is_none();
                let _ = started.send(Ok((waker, monitor.events())));
                let served = Served {
                    monitor,
                    answers,
                    pulse: shared,
                    counts: counted,
                };
                served.run(&received, is_simulated);
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
        let (waker, events) = start
            .recv()
            .map_err(|_| failed("it ended at once".into()))??;
        Ok(Self {
            handle: Handle {
                commands,
                asker,
                waker,
                events,
                pulse,
                counts,
            },
            thread: Some(thread),
        })
    }

    /// Returns a handle for requests.
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

/// The loop, and what it shares with those who ask.
struct Served {
    monitor: Monitor,
    answers: Answers,
    pulse: Arc<Pulse>,
    counts: Arc<Counts>,
}

impl Served {
    fn run(mut self, commands: &Receiver<Command>, simulated: bool) {
        let (begun, virtual_begun) = (Instant::now(), self.monitor.now());
        loop {
            let next = self.monitor.serve();
            self.pulse.turn(self.monitor.running());
            // one a turn: what else is asked for waits for the next one
            let next = match commands.try_recv() {
                Ok(Command::Stop) | Err(TryRecvError::Disconnected) => return,
                Ok(command) => {
                    self.obey(command);
                    self.monitor.now()
                }
                Err(TryRecvError::Empty) => next,
            };
            self.answer();
            let waited = if simulated {
                thread::sleep(STEP);
                // a simulation that is slower than real time still answers
                let until = virtual_begun + Span::from(begun.elapsed());
                let monitor = &mut self.monitor;
                monitor.run_until(until.min(monitor.now() + LONGEST_STEP))
            } else {
                let due = self.answers.due();
                let due = due.map(|wait| self.monitor.now() + Span::from(wait));
                self.monitor.wait(due.map_or(next, |due| due.min(next)))
            };
            if let Err(error) = waited {
                tracing::error!("{error}");
                thread::sleep(STEP);
            }
        }
    }

    fn obey(&mut self, command: Command) {
        match command {
            // an event reports its fault as well
            Command::Reload(reload) => reload.perform(&mut self.monitor),
            Command::RefuseReload(why) => self.monitor.refuse_reload(&why),
            Command::Stop => {}
        }
    }

    fn answer(&mut self) {
        let (monitor, counts) = (&mut self.monitor, &self.counts);
        self.answers.answer(|| {
            let mut snapshot = monitor.snapshot();
            let pushes = counts.pushes.lock().unwrap_or_else(PoisonError::into_inner);
            snapshot.own.pushes.clone_from(&pushes);
            snapshot.own.series_left_out = counts.left_out.load(Ordering::Relaxed);
            snapshot
        });
    }
}
