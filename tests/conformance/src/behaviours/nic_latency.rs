//! What real NICs showed about the way of a packet: row 15 on hardware, and on the
//! simulated NICs that imitate it. Timestamps are in `nic_timestamps`.

use super::Behaviour;
use super::nic_clock::{enabled, enabled_at_far, ready, ready_on};
use crate::exchange::timestamps_of;
use crate::rig::{Family, Need, PTP_EVENTS, Pair, Rig, SYNC};
use crate::{Outcome, note};
use std::net::{SocketAddr, UdpSocket as Plain};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use wirestamp::latency::{Endpoint, LatencyOptions, LatencyReport, LatencyRun, Summary};
use wirestamp::timestamp::SoftwareTimestamp;
use wirestamp::{
    Correlator, HardwareTimestamp, MonotonicTime, Source, Span, TimestampSource, Timestamping,
    TransmitId,
};

const TIMESTAMPS: &[Need] = &[
    Need::HardwareClock,
    Need::HardwareTransmit,
    Need::MonotonicHardwareClock,
];

pub(super) const ALL: &[Behaviour] = &[
    Behaviour::new(
        15,
        "a-hardware-timestamp-lies-behind-the-software-timestamp-of-its-packet",
        behind_software,
    )
    .needs(TIMESTAMPS)
    .preset("igb")
    .also(&[Need::BothClocks]),
    Behaviour::new(
        15,
        "all-timestamps-of-a-packet-are-in-the-order-of-its-way",
        in_the_order_of_its_way,
    )
    .needs(&[
        Need::HardwareClock,
        Need::HardwareTransmit,
        Need::HardwareReceivePtp,
        Need::MonotonicHardwareClock,
    ])
    .preset("igb")
    .also(&[Need::BothClocks]),
    Behaviour::new(
        15,
        "both-ends-of-a-measurement-go-through-their-correlators",
        between_nics,
    )
    .needs(&[
        Need::HardwareClock,
        Need::HardwareTransmit,
        Need::HardwareReceive,
        Need::MonotonicHardwareClock,
    ])
    .also(&[Need::Switch]),
    Behaviour::new(
        15,
        "an-nic-that-timestamps-ptp-messages-alone-measures-the-send-path",
        send_path_alone,
    )
    .needs(&[
        Need::HardwareClock,
        Need::HardwareTransmit,
        Need::Driver("igb"),
    ])
    .preset("igb")
    .also(&[Need::Switch]),
];

/// Longer than a NIC with one register takes from a datagram to its timestamp.
const APART: Duration = Duration::from_millis(20);
/// Long enough for a timestamp that an emulated NIC makes on a busy machine.
const DEADLINE: Span = Span::from_seconds(1);

/// A time on the system clock, and how far it can be from the truth.
#[derive(Debug, Clone, Copy)]
struct Placed {
    at: MonotonicTime,
    bound: Span,
}

impl Placed {
    fn call(at: MonotonicTime) -> Self {
        Self {
            at,
            bound: Span::ZERO,
        }
    }

    fn software(timestamp: &SoftwareTimestamp) -> Self {
        Self {
            at: timestamp.at.value,
            bound: timestamp.at.bound,
        }
    }

    fn hardware(timestamp: &HardwareTimestamp, correlator: &Correlator) -> Self {
        let estimate = correlator.to_monotonic(timestamp);
        let estimate =
            estimate.unwrap_or_else(|refusal| panic!("{timestamp:?}: {refusal}: {correlator:?}"));
        Self {
            at: estimate.at.value,
            bound: estimate.at.bound,
        }
    }
}

/// Checks that each time can lie behind the one before it, as far as their bounds say.
#[track_caller]
fn check_order(way: &[(&str, Placed)]) {
    for pair in way.windows(2) {
        let [(_, first), (_, second)] = [pair[0], pair[1]];
        assert!(
            second.at + second.bound + first.bound >= first.at,
            "{pair:?} of {way:?}"
        );
    }
}

/// The mean of differences, and the largest bound that they were said to have.
#[derive(Debug, Default)]
struct Difference {
    sum: Span,
    count: i128,
    most: Span,
    bound: Span,
}

impl Difference {
    fn add(&mut self, from: Placed, to: Placed) {
        self.sum += to.at - from.at;
        self.most = self.most.max(to.at - from.at);
        self.bound = self.bound.max(from.bound + to.bound);
        self.count += 1;
    }

    fn said(&self) -> String {
        let mean = Span::from_nanoseconds(self.sum.nanoseconds() / self.count.max(1));
        format!(
            "{mean} in the mean of {}, {} at most, bound {}",
            self.count, self.most, self.bound
        )
    }
}

fn sending(source: Source) -> Timestamping {
    Timestamping::OFF
        .transmit(64)
        .source(source)
        .transmit_deadline(DEADLINE)
}

/// The driver timestamps what it hands to the NIC, and the NIC what leaves it.
fn behind_software(rig: &Rig) -> Outcome {
    let _guard = enabled(rig)?;
    let correlator = ready(rig)?;
    let pair = rig.pair(Family::V4, sending(Source::Both), Timestamping::OFF)?;
    let mut difference = Difference::default();
    for id in 0..30 {
        let before = pair.sender.now();
        pair.send(id)?;
        let timestamps = timestamps_of(&pair.sender, id)?;
        let (software, hardware) = (
            timestamps.software.expect("both"),
            timestamps.hardware.expect("both"),
        );
        let (driver, left) = (
            Placed::software(&software),
            Placed::hardware(&hardware, &correlator),
        );
        let read = Placed::call(hardware.read_at);
        check_order(&[
            ("send", Placed::call(before)),
            ("driver", driver),
            ("nic", left),
            ("read", read),
        ]);
        difference.add(driver, left);
        rig.pass(APART);
    }
    note(
        rig,
        &format!(
            "sent: hardware timestamp behind software timestamp by {}",
            difference.said()
        ),
    );
    Ok(())
}

/// One PTP message's six times, by three clocks: a wrong conversion at either end would put
/// one before the other.
fn in_the_order_of_its_way(rig: &Rig) -> Outcome {
    let _guards = [enabled(rig)?, enabled_at_far(rig)?];
    let far = rig.at_far(|| rig.far())?;
    let (near_clock, far_clock) = (ready(rig)?, rig.at_far(|| ready_on(rig, &far))?);
    let receiving = Timestamping::OFF.receive().source(Source::Both);
    let pair = rig.pair_at(Family::V4, PTP_EVENTS, sending(Source::Both), receiving)?;
    let mut differences: [Difference; 3] = Default::default();
    for id in 0..60 {
        let way = way_of(&pair, id, &near_clock, &far_clock)?;
        check_order(&way);
        for (difference, pair) in differences.iter_mut().zip(way[1..5].windows(2)) {
            difference.add(pair[0].1, pair[1].1);
        }
        rig.pass(APART);
    }
    let steps = [
        "sent: hardware timestamp behind software timestamp",
        "wire",
        "received: software timestamp behind hardware timestamp",
    ];
    for (step, difference) in steps.iter().zip(&differences) {
        note(rig, &format!("{step} by {}", difference.said()));
    }
    Ok(())
}

type Way = [(&'static str, Placed); 6];

fn way_of(pair: &Pair, id: u32, near: &Correlator, far: &Correlator) -> Outcome<Way> {
    let before = pair.sender.now();
    pair.sender.send_to(&SYNC, pair.to, Some(TransmitId(id)))?;
    let received = pair.receive()?.timestamps;
    let after = pair.receiver.now();
    let sent = timestamps_of(&pair.sender, id)?;
    Ok([
        ("send", Placed::call(before)),
        (
            "driver sends",
            Placed::software(&sent.software.expect("a software timestamp of sending")),
        ),
        (
            "NIC sends",
            Placed::hardware(
                &sent.hardware.expect("a hardware timestamp of sending"),
                near,
            ),
        ),
        (
            "NIC receives",
            Placed::hardware(
                &received
                    .hardware
                    .expect("a hardware timestamp of receiving"),
                far,
            ),
        ),
        (
            "driver receives",
            Placed::software(
                &received
                    .software
                    .expect("a software timestamp of receiving"),
            ),
        ),
        ("received", Placed::call(after)),
    ])
}

fn endpoint(socket: wirestamp::UdpSocket, correlator: Correlator) -> Endpoint {
    Endpoint {
        socket: Arc::new(socket),
        correlator: Some(Arc::new(correlator)),
    }
}

fn summary(report: &LatencyReport, path: &wirestamp::latency::Histogram) -> Summary {
    Summary::of(path).unwrap_or_else(|| panic!("nothing was measured: {:?}", report.lost))
}

fn between_nics(rig: &Rig) -> Outcome {
    const COUNT: u64 = 200;
    let _guards = [enabled(rig)?, enabled_at_far(rig)?];
    let sender = endpoint(rig.near_socket(Family::V4)?, ready(rig)?);
    let receiver = rig.at_far(|| -> Outcome<_> {
        let far = rig.far()?;
        Ok(endpoint(
            far.bind((Family::V4.address_of(&far)?, 0).into())?,
            ready_on(rig, &far)?,
        ))
    })?;
    let to = receiver.socket.local_address()?;
    let options = LatencyOptions {
        count: COUNT,
        source: TimestampSource::Hardware,
        ..Default::default()
    };
    let report = LatencyRun::between(sender, receiver, to, options)?.run(|_| {})?;
    assert_eq!(
        (report.source, report.packets),
        (TimestampSource::Hardware, COUNT)
    );
    assert!(report.lost.is_none(), "{:?}", report.lost);
    let bound = report.max_bound.expect("timestamps were placed");
    for (what, path) in [
        ("send path", &report.send_path),
        ("wire", &report.wire),
        ("receive path", &report.receive_path),
    ] {
        let summary = summary(&report, path);
        assert_eq!(summary.count, COUNT, "{what}");
        assert!(
            summary.minimum >= -(bound + bound),
            "{what}: {summary:?}, bound {bound}"
        );
        note(
            rig,
            &format!(
                "{what} by hardware timestamps: {} in the mean, bound {bound}",
                summary.mean
            ),
        );
    }
    Ok(())
}

/// Returns every datagram to its sender, until it is dropped.
struct Echo {
    address: SocketAddr,
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Echo {
    /// At the far end.
    fn start(rig: &Rig) -> Outcome<Self> {
        let failed = |error: std::io::Error| format!("no echo: {error}");
        let socket = rig.at_far(|| -> Outcome<_> {
            let address = Family::V4.address_of(&rig.far()?)?;
            Ok(Plain::bind((address, 0)).map_err(failed)?)
        })?;
        socket
            .set_read_timeout(Some(Duration::from_millis(50)))
            .map_err(failed)?;
        let (address, ends) = (
            socket.local_addr().map_err(failed)?,
            Arc::new(AtomicBool::new(false)),
        );
        let asked = Arc::clone(&ends);
        let thread = thread::spawn(move || {
            let mut buffer = [0; 2_048];
            while !asked.load(Ordering::Relaxed) {
                if let Ok((length, from)) = socket.recv_from(&mut buffer) {
                    // whoever asked may be gone
                    let _ = socket.send_to(&buffer[..length], from);
                }
            }
        });
        Ok(Self {
            address,
            ends,
            thread: Some(thread),
        })
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        // it does not panic
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Its filter does not take every packet: what is sent is timestamped all the same.
fn send_path_alone(rig: &Rig) -> Outcome {
    const COUNT: u64 = 100;
    let near = rig.near()?;
    let echo = if rig.is_simulated() {
        None
    } else {
        Some(Echo::start(rig)?)
    };
    let peer = echo.as_ref().map(|echo| echo.address);
    let options = LatencyOptions {
        count: COUNT,
        source: TimestampSource::Hardware,
        peer,
        ..Default::default()
    };
    let report = LatencyRun::on(&near, options)?.run(|_| {})?;
    assert_eq!(
        (
            report.lost.transmit_timestamps_in_all(),
            report.lost.conversions
        ),
        (0, 0),
        "{:?}",
        report.lost
    );
    assert_eq!(
        (report.lost.receive_timestamps, report.receive_path.count()),
        (COUNT, 0),
        "{:?}",
        report.lost
    );
    let (summary, bound) = (
        summary(&report, &report.send_path),
        report.max_bound.expect("timestamps were placed"),
    );
    assert_eq!(summary.count, COUNT);
    assert!(summary.minimum >= -bound, "{summary:?}, bound {bound}");
    note(
        rig,
        &format!(
            "send path by hardware timestamps, with a peer: {} in the mean, bound {bound}",
            summary.mean
        ),
    );
    Ok(())
}
