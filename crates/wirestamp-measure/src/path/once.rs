//! Measures a path once, with a number of packets at a rate. It works in batches that wait by themselves, because at
//! 100,000 packets a second a turn of the loop per packet would cost more than the packet.

use super::shown::shown;
use crate::moment::Moment;
use crate::report::Report;
use crate::sample::{Kind, Subject};
use crate::sink::Sink;
use crate::state::State;
use crate::task::{Task, Turn};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use wirestamp::latency::{LatencyOptions, LatencyRun, PacketLatency};
use wirestamp::socket::AnySocket;
use wirestamp::{Interface, MonotonicTime, Result};

/// The duration of a batch. The engine's caller notices a signal after it.
const BATCH: Duration = Duration::from_millis(20);

/// Runs until all packets are judged.
pub(super) struct OnceTask {
    interface: String,
    /// `None`: it has reported.
    run: Option<LatencyRun>,
    phase: Phase,
    /// Single packets, if the sink wants them.
    packets: Option<Receiver<PacketLatency>>,
}

#[derive(Clone, Copy, PartialEq)]
enum Phase {
    WarmUp,
    Sending,
    Settling,
    Over,
}

impl OnceTask {
    pub(super) fn open(interface: &Interface, options: LatencyOptions) -> Result<Self> {
        Ok(Self {
            interface: interface.name().to_owned(),
            run: Some(LatencyRun::prepare(interface, options)?),
            phase: Phase::WarmUp,
            packets: None,
        })
    }

    fn pass(&self, sink: &mut dyn Sink) {
        let subject = Subject {
            kind: Kind::Path,
            name: &self.interface,
        };
        if let Some(run) = &self.run {
            sink.progress(subject, run.progress());
        }
        let packets = self.packets.iter().flat_map(Receiver::try_iter);
        packets.for_each(|packet| sink.passed(subject, &packet));
    }
}

impl Task for OnceTask {
    fn serve(&mut self, turn: &mut Turn<'_>) -> Result<MonotonicTime> {
        let Some(run) = &mut self.run else {
            return Ok(MonotonicTime::MAX);
        };
        self.phase = match self.phase {
            Phase::WarmUp if run.warm_up()? => Phase::WarmUp,
            Phase::WarmUp => {
                if turn.sink.wants_packets() {
                    let (sender, packets) = channel();
                    run.send_packets_to(sender);
                    self.packets = Some(packets);
                }
                Phase::Sending
            }
            Phase::Sending if run.step_for(BATCH)? => Phase::Sending,
            Phase::Sending => Phase::Settling,
            Phase::Settling if run.settle()? => Phase::Settling,
            Phase::Settling | Phase::Over => Phase::Over,
        };
        self.pass(turn.sink);
        Ok(match self.phase {
            Phase::Over => MonotonicTime::MAX,
            _ => turn.now,
        })
    }

    /// It waits itself.
    fn sockets<'a>(&'a self, _: &mut Vec<AnySocket<'a>>) {}

    fn show(&self, _moment: &Moment, into: &mut State) {
        let run = self.run.iter();
        into.paths
            .extend(run.map(|run| shown(&self.interface, run, 0)));
    }

    fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    fn report(&mut self, sink: &mut dyn Sink) -> Option<Result<Report>> {
        let report = self.run.take()?.stop();
        self.pass(sink);
        Some(report.map(Box::new).map(Report::Path))
    }
}
