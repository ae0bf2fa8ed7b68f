//! The case of a timestamp that comes some time after the send: how old it is when the caller has it.

use super::Path;
use super::report::Goal;
use super::sending::is_timestamp;
use super::sockets::Setting;
use super::timing::{Case, median};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, SockaddrStorage, TimestampingFlag, Timestamps, recvmsg,
    setsockopt, sockopt,
};
use nix::time::{ClockId, clock_gettime};
use std::error::Error;
use std::io::IoSliceMut;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;
use wirestamp::socket::Engine;
use wirestamp::{Timestamping, TransmitAnswer, TransmitId, TransmitOutcome};

type Failure = Box<dyn Error>;

/// 1 MB a second: each of the datagrams leaves about a millisecond after it was sent.
pub(crate) const SHAPE: &str = "tbf rate 8mbit burst 1600 limit 100000";
const PAYLOAD: [u8; 960] = [0x42; 960];
/// Datagrams in a chunk, of which the median counts.
const TIMESTAMPS: usize = 9;
const LONG: Duration = Duration::from_secs(1);

const POLL: &str = "poll, then recvmsg";

pub(crate) fn paths() -> Result<Vec<Path>, Failure> {
    Ok(vec![Path {
        name: "timestamp ready -> in the caller's hands, p50",
        cases: vec![ours()?, polled()?],
        goals: vec![Goal {
            peer: POLL,
            at_most: 1.05,
        }],
    }])
}

/// The median age.
fn case(name: &'static str, mut age: impl FnMut() -> Result<f64, Failure> + 'static) -> Case {
    Case::new(name, move || {
        let ages = (0..TIMESTAMPS)
            .map(|_| age().map_err(|error| error.to_string()))
            .collect::<Result<Vec<_>, _>>();
        Ok((1, Duration::from_nanos(median(&mut ages?) as u64)))
    })
}

fn ours() -> Result<Case, Failure> {
    let sink = Setting::Tun.sink()?;
    let socket = wirestamp::UdpSocket::bind(Setting::Tun.local())?;
    socket.connect(sink.address)?;
    socket.configure(Timestamping::OFF.transmit(64).engine(Engine::Calls))?;
    let mut next = 0u32;
    Ok(case("wirestamp", move || {
        next = next.wrapping_add(1);
        socket.send(&PAYLOAD, Some(TransmitId(next)))?;
        match socket.wait_transmit_timestamp(TransmitId(next), LONG)? {
            TransmitAnswer::Resolved(TransmitOutcome::Timestamped(timestamps)) => {
                let at = timestamps.software.ok_or("no software timestamp")?.at.value;
                Ok((socket.now() - at).nanoseconds() as f64)
            }
            other => Err(format!("{other:?}").into()),
        }
    }))
}

fn polled() -> Result<Case, Failure> {
    let sink = Setting::Tun.sink()?;
    let socket = Setting::Tun.sender(sink.address)?;
    let flags = TimestampingFlag::SOF_TIMESTAMPING_TX_SOFTWARE
        | TimestampingFlag::SOF_TIMESTAMPING_SOFTWARE
        | TimestampingFlag::SOF_TIMESTAMPING_OPT_ID
        | TimestampingFlag::SOF_TIMESTAMPING_OPT_TSONLY;
    setsockopt(&socket, sockopt::Timestamping, &flags)?;
    let mut space = nix::cmsg_space!(
        Timestamps,
        nix::libc::sock_extended_err,
        nix::libc::sockaddr_in
    );
    Ok(case(POLL, move || {
        socket.send(&PAYLOAD)?;
        poll(
            &mut [PollFd::new(socket.as_fd(), PollFlags::empty())],
            PollTimeout::from(1_000u16),
        )?;
        let mut none: [IoSliceMut<'_>; 0] = [];
        let flags = MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT;
        let message =
            recvmsg::<SockaddrStorage>(socket.as_raw_fd(), &mut none, Some(&mut space), flags)?;
        let timestamp = message.cmsgs()?.find(is_timestamp).ok_or("no timestamp")?;
        let ControlMessageOwned::ScmTimestampsns(timestamps) = timestamp else {
            return Err("no timestamp".into());
        };
        let now = Duration::from(clock_gettime(ClockId::CLOCK_REALTIME)?);
        Ok(now
            .saturating_sub(Duration::from(timestamps.system))
            .as_nanos() as f64)
    }))
}
