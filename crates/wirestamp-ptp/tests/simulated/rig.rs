//! A receiver, and forged messages of a timeTransmitter at the other end of its cable.

use crate::forge::{Attacker, Forged};
use crate::pair::{Cable, quick, run};
use wirestamp::{MonotonicTime, Span};
use wirestamp_ptp::{Counts, Engine, Fault, Node, PortState, Role, Sample};

pub(crate) const WHO: u8 = 1;
pub(crate) const OURS: [u8; 8] = [2, 0, 0, 0, 0, 0, 0, 2];
pub(crate) const PATH: i64 = 1_000;

/// A receiver, and forged messages instead of a transmitter.
pub(crate) struct Rig<'e> {
    pub(crate) cable: &'e Cable,
    pub(crate) attacker: Attacker,
    pub(crate) receiver: Node<'e>,
    pub(crate) sequence: u16,
    pub(crate) samples: Vec<(Sample, MonotonicTime)>,
    /// The lead of the forged transmitter's clock over the NIC's clock at its end.
    pub(crate) ahead: i64,
}

pub(crate) fn receiver(cable: &Cable) -> Engine {
    cable.engine(1, quick(Role::TimeReceiver))
}

impl<'e> Rig<'e> {
    pub(crate) fn new(cable: &'e Cable, engine: &'e Engine) -> Self {
        let mut rig = Self::unheard(cable, engine);
        for _ in 0..4 {
            rig.exchange();
        }
        assert_eq!(
            rig.receiver.status().ports[0].state,
            PortState::TimeReceiver
        );
        rig
    }

    /// The forged timeTransmitter has sent nothing yet.
    pub(crate) fn unheard(cable: &'e Cable, engine: &'e Engine) -> Self {
        let attacker = Attacker::on(cable);
        let mut rig = Self {
            cable,
            attacker,
            receiver: cable.node(engine, 1),
            sequence: 0,
            samples: Vec::new(),
            ahead: 0,
        };
        rig.pass(500); // until the NIC's clock is known
        rig
    }

    pub(crate) fn pass(&mut self, milliseconds: i64) {
        let samples = &mut self.samples;
        run(
            &mut [&mut self.receiver],
            Span::from_milliseconds(milliseconds),
            |_, sample, now| {
                samples.push((sample, now));
            },
        );
    }

    /// Also takes samples that are not final yet.
    pub(crate) fn finish(&mut self) {
        let last = self.receiver.finish().into_iter();
        self.samples.extend(last.map(|sample| {
            let made = sample.at;
            (sample, made)
        }));
    }

    pub(crate) fn transmitters_time(&self) -> i64 {
        self.cable.nic_clock(0, self.cable.world().truth().now()) + self.ahead
    }

    /// The messages that a real transmitter would send in an eighth of a second.
    pub(crate) fn exchange(&mut self) {
        self.announce_and_sync();
        self.pass(120);
    }

    pub(crate) fn announce_and_sync(&mut self) {
        self.sequence += 1;
        self.attacker.send(&Forged::new(0xb, WHO, self.sequence));
        self.sync(self.sequence);
    }

    pub(crate) fn sync(&mut self, sequence: u16) {
        let sent = self.transmitters_time() + PATH; // its path through the network stack
        self.attacker.send(&Forged::new(0, WHO, sequence));
        self.attacker.send(&Forged::new(8, WHO, sequence).at(sent));
    }

    pub(crate) fn counts(&self) -> Counts {
        self.receiver.counts()
    }

    pub(crate) fn ignored(&self, fault: Fault) -> u64 {
        self.counts()
            .ignored
            .get(fault.name())
            .copied()
            .unwrap_or(0)
    }

    /// Sends it, and returns how often this increased the counter `fault`.
    pub(crate) fn counted(&mut self, bytes: &[u8], event: bool, fault: Fault) -> u64 {
        let before = self.ignored(fault);
        self.attacker.send_to(bytes, event);
        self.pass(1);
        self.ignored(fault) - before
    }

    pub(crate) fn still_follows(&mut self) {
        self.exchange();
        self.exchange();
        assert_eq!(
            self.receiver.status().ports[0].state,
            PortState::TimeReceiver
        );
    }
}
