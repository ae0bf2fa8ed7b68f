//! Sending by AF_XDP: frames filled in shared memory, the ring that hands them to the kernel or the NIC, the ring that gives them back.

mod opening;

use super::super::call;
use super::super::clock;
use super::super::error::system_error;
use super::metadata::{self, METADATA};
use super::rings::{Frames, Ring};
use super::socket::{bind, check, frame_size, likely_features, open_best, open_error, statistics};
use opening::{attach_passing, can_wake, no_metadata, register, share};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::thread;
use std::time::Duration;
use wirestamp_core::interface::{InterfaceDescription, InterfaceIndex};
use wirestamp_core::time::MonotonicTime;
use wirestamp_core::timestamp::{Arrival, TransmitId};
use wirestamp_core::xdp::{
    SendLedger, XdpMode, XdpSendOptions, XdpSendStatistics, XdpWay, frame_fault,
};
use wirestamp_core::{Error, ErrorKind, Result};

const SEND: &str = "send by AF_XDP";
const MOST_FRAMES: u32 = 32_768;
/// Frames for what the queue receives where the driver does without copies: it has no others then, and the host would receive nothing.
const RECEIVING: u32 = 2_048;
/// A header and a VLAN tag, beside the MTU.
const HEADERS: usize = 18;
/// How long the first sleep is while frames are awaited, and the longest: poll(2) does not report their completion.
const FIRST_SLEEP: Duration = Duration::from_micros(20);
const LONGEST_SLEEP: Duration = Duration::from_millis(1);

/// An open AF_XDP socket that sends.
#[derive(Debug)]
pub struct XdpSend {
    // Dropped in this order: first the program goes, if there is one, then the rings.
    _link: Option<OwnedFd>,
    to_send: Ring,
    completed: Ring,
    fd: OwnedFd,
    frames: Frames,
    ledger: SendLedger,
    /// Frames that the kernel was not given yet.
    prepared: u32,
    statistics: XdpSendStatistics,
    way: XdpWay,
    tried: Vec<(XdpWay, Error)>,
    mtu: u32,
    interface: InterfaceIndex,
    name: String,
}

impl XdpSend {
    /// Opens one in the best way that the system accepts. Where the NIC is restarted for it, waits until the link is up again, 10 s at most.
    ///
    /// # Errors
    /// `NotPermitted` without CAP_NET_RAW, and without CAP_BPF and CAP_NET_ADMIN for zero copy; `NotSupported` if no way works; `InvalidInput`
    /// for options that make no sense, or a queue that is not there; `Busy` if the queue has an AF_XDP socket already; `NoSuchDevice`.
    pub fn open(interface: &InterfaceDescription, options: &XdpSendOptions) -> Result<Self> {
        check(interface, options.queue, options.frames, MOST_FRAMES)?;
        let ways = XdpWay::to_send(likely_features(interface)?, options.zero_copy);
        let (opened, tried) = open_best(interface, ways, |way| {
            Self::open_so(interface, options, way)
        })?;
        Ok(Self { tried, ..opened })
    }

    fn open_so(
        interface: &InterfaceDescription,
        options: &XdpSendOptions,
        way: XdpWay,
    ) -> Result<Self> {
        let failed = |error: io::Error| open_error(interface, &error);
        let zero_copy = way.mode == XdpMode::ZeroCopy;
        let fd =
            socket2::Socket::new(libc::AF_XDP.into(), socket2::Type::RAW, None).map_err(failed)?;
        let fd = OwnedFd::from(fd);
        let receiving = if zero_copy { RECEIVING } else { 0 };
        let size = frame_size(interface);
        let frames = Frames::new(options.frames + receiving, size).map_err(failed)?;
        let metadata = if way.hardware { METADATA as u32 } else { 0 };
        register(&fd, &frames, metadata).map_err(|error| no_metadata(failed(error), way))?;
        let (to_send, completed) = share(&fd, options.frames, receiving, size).map_err(failed)?;
        // only now: a way that fails before has not restarted the NIC
        let link = if zero_copy {
            attach_passing(interface)?
        } else {
            None
        };
        bind(fd.as_fd(), interface, options.queue, way.mode).map_err(failed)?;
        if zero_copy {
            can_wake(&fd, interface)?;
        }
        Ok(Self {
            _link: link,
            to_send,
            completed,
            fd,
            frames,
            ledger: SendLedger::new(options.frames),
            prepared: 0,
            statistics: XdpSendStatistics::default(),
            way,
            tried: Vec::new(),
            mtu: interface.mtu,
            interface: interface.index,
            name: interface.name.clone(),
        })
    }

    /// In which way packets go.
    pub fn way(&self) -> XdpWay {
        self.way
    }

    /// The better ways that were tried, and why they did not work.
    pub fn tried(&self) -> &[(XdpWay, Error)] {
        &self.tried
    }

    /// Whether a frame is free.
    pub fn has_room(&self) -> bool {
        self.ledger.next_free().is_some()
    }

    /// How many frames are queued or with the system.
    pub fn under_way(&self) -> usize {
        self.ledger.under_way()
    }

    /// The room of the next free frame, with what was in it before. Empty: none is free.
    pub fn room(&mut self) -> &mut [u8] {
        match self.ledger.next_free() {
            Some(frame) => {
                let longest = (self.mtu as usize).saturating_add(HEADERS);
                self.frames.room(frame, longest)
            }
            None => &mut [],
        }
    }

    /// Whether the first bytes of [`room`](Self::room) can be sent as a frame.
    ///
    /// # Errors
    /// `InvalidInput` for one that is too long or too short; `Busy` if no frame is free.
    pub fn check(&mut self, length: usize) -> Result<()> {
        let (mtu, room) = (self.mtu, self.room());
        let (kind, cause) = match room.get(..length) {
            _ if room.is_empty() => (ErrorKind::Busy, "no frame is free"),
            None => (ErrorKind::InvalidInput, "the frame is longer than its room"),
            Some(frame) => match frame_fault(frame, mtu) {
                Some(fault) => (ErrorKind::InvalidInput, fault),
                None => return Ok(()),
            },
        };
        Err(Error::new(kind, SEND, &self.name, cause))
    }

    /// Queues the first bytes of [`room`](Self::room) as a frame that was [checked](Self::check).
    pub fn queue(&mut self, length: usize, id: TransmitId) {
        let Some(frame) = self.ledger.queue(id) else {
            return;
        };
        let hardware = self.way.hardware;
        if hardware {
            self.frames.set_metadata(frame, metadata::request());
        }
        let length = u32::try_from(length).unwrap_or(0);
        let descriptor = metadata::descriptor(self.frames.to_send(frame), length, hardware);
        self.to_send.prepare(self.prepared, descriptor);
        self.prepared += 1;
    }

    /// Gives the queued frames to the kernel, and wakes it if it sleeps. What it does not take now it takes at the next call, or during a wait.
    ///
    /// # Errors
    /// `NoSuchDevice` if the interface is gone; `Unreachable` if it is down; `Io`. No frame is lost by one: each is taken later, or completed,
    /// or its id ends by its deadline.
    pub fn hand_over(&mut self) -> Result<()> {
        if self.prepared > 0 {
            self.to_send.hand_over(self.prepared);
            self.statistics.handed_over += u64::from(self.prepared);
            self.prepared = 0;
        }
        self.wake().map_err(|error| self.not_sent(&error))
    }

    /// Where the kernel copies, one call takes a few frames only: it is called as long as it takes some.
    fn wake(&mut self) -> io::Result<()> {
        while self.ledger.under_way() > 0 && self.to_send.is_asleep() {
            let unread = self.to_send.unread();
            let Err(error) = call::wake_xdp(self.fd.as_fd()) else {
                return Ok(());
            };
            match error.raw_os_error() {
                // copied, given back, and not sent
                Some(libc::EBUSY) if self.way.mode != XdpMode::ZeroCopy => {
                    self.statistics.dropped += 1;
                }
                Some(libc::EBUSY | libc::EAGAIN | libc::ENOBUFS) => {}
                _ => return Err(error),
            }
            let left = self.to_send.unread();
            if left == 0 || left == unread {
                return Ok(());
            }
        }
        Ok(())
    }

    fn not_sent(&self, error: &io::Error) -> Error {
        let described = system_error(SEND, &self.name, error);
        match error.raw_os_error() {
            Some(libc::ENXIO) => {
                let cause = match self.way.mode {
                    XdpMode::ZeroCopy => "the interface is gone, or has no XDP program any more",
                    _ => "the interface is gone",
                };
                Error::new(ErrorKind::NoSuchDevice, SEND, &self.name, cause)
                    .with_remedy("open a new sender when it is there")
            }
            Some(libc::ENETDOWN) => described
                .with_remedy("switch the interface on; the frames leave with the next flush"),
            _ => described,
        }
    }

    /// Takes back the frames that were completed, and says of each what that means for its id.
    pub fn take_completed(&mut self, now: MonotonicTime, mut meaning: impl FnMut(&Arrival)) {
        let count = self.completed.waiting();
        for place in 0..count {
            let frame = self.frames.sent(self.completed.sent(place));
            let owner = frame.and_then(|frame| Some((frame, self.ledger.complete(frame)?)));
            let Some((frame, id)) = owner else {
                continue; // none of those that were given
            };
            let ticks = if self.way.hardware {
                metadata::answer(&self.frames.metadata(frame))
            } else {
                0
            };
            self.statistics.completed += 1;
            meaning(&self.way.completed(id, ticks, self.interface, now));
        }
        self.completed.consume(count);
    }

    /// Waits until frames were completed, but not beyond `until`. Meanwhile the kernel is woken as it needs.
    ///
    /// # Errors
    /// `NoSuchDevice` if the interface is gone.
    pub fn wait(&mut self, until: MonotonicTime) -> Result<()> {
        let mut sleep = FIRST_SLEEP;
        while self.completed.waiting() == 0 {
            if let Err(error) = self.wake() {
                let error = self.not_sent(&error);
                if error.kind() == ErrorKind::NoSuchDevice && self.completed.waiting() == 0 {
                    return Err(error);
                }
            }
            let now = clock::now();
            if self.completed.waiting() > 0 || now >= until {
                break;
            }
            thread::sleep(sleep.min((until - now).to_duration()));
            sleep = (sleep * 2).min(LONGEST_SLEEP);
        }
        Ok(())
    }

    /// Returns the counts since it was opened.
    ///
    /// # Errors
    /// `Io`.
    pub fn statistics(&self) -> Result<XdpSendStatistics> {
        let failed = |error: io::Error| system_error("count packets of AF_XDP", &self.name, &error);
        let [_, _, invalid, ..] = statistics(&self.fd).map_err(failed)?;
        let XdpSendStatistics {
            handed_over,
            completed,
            dropped,
            ..
        } = self.statistics;
        Ok(XdpSendStatistics::new(
            handed_over,
            completed,
            dropped,
            invalid,
        ))
    }
}

#[cfg(test)]
mod tests;
