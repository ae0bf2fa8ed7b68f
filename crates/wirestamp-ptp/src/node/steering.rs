//! Steering of a clock by a running PTP clock.

use super::Node;
use crate::configuration::Clock;
use crate::engine::PortState;
use crate::port::Port;
use crate::steering::{Leap, RefusedOffset, SteeredClock, Steering};
use wirestamp::{Error, ErrorKind, MonotonicTime, Result};

impl Node<'_> {
    /// Starts steering the configured clock; does nothing if none is configured.
    ///
    /// # Errors
    /// `Busy` if another program that steers the clock is running, as far as this can be
    /// determined; `NotPermitted` without the privilege (Linux: `CAP_SYS_TIME`, or write access to
    /// the NIC's clock); `NotSupported` on systems without steering, or if the ports have different
    /// NIC clocks, of which only one could be steered.
    pub fn steer(&mut self) -> Result<()> {
        let clock_of = |port: &Port<'_>| port.interface().description().hardware_clock;
        let chosen = self.engine.configuration.clock;
        if chosen == Clock::Nic
            && self
                .ports
                .iter()
                .any(|port| clock_of(port) != clock_of(&self.ports[0]))
        {
            let cause = "its ports are on NICs with clocks of their own";
            return Err(Error::new(
                ErrorKind::NotSupported,
                "steer the NIC's clock",
                "a boundary clock",
                cause,
            )
            .with_remedy("name one interface, or steer the system clock"));
        }
        let steering = Steering::open(
            self.ports[0].interface(),
            &self.engine.configuration,
            &self.commands,
        )?;
        self.begin_steering(steering);
        Ok(())
    }

    /// Starts steering a clock that the caller provides: the one that timestamps the messages of
    /// the port that follows a timeTransmitter. With [`Clock::Nic`] this is the current clock of
    /// the first port's interface. It is not steered while the following port has another clock.
    ///
    /// # Errors
    /// The clock's own errors.
    pub fn steer_with(&mut self, clock: Box<dyn SteeredClock>) -> Result<()> {
        let steering = Steering::new(clock, &self.engine.configuration, &self.commands)?;
        self.begin_steering(Some(steering));
        Ok(())
    }

    fn begin_steering(&mut self, steering: Option<Steering>) {
        if let Some(steering) = &steering {
            let drift =
                steering.possible_drift(f64::from(self.engine.configuration.max_drift_ppm) * 1e-6);
            self.ports
                .iter_mut()
                .for_each(|port| port.assume_drift(drift));
        }
        self.steering = steering;
        let first = self.ports[0].interface().description();
        let is_nics = self.engine.configuration.clock == Clock::Nic;
        self.steered = first.hardware_clock.filter(|_| is_nics);
    }

    /// Ends steering, and leaves the learnt base frequency set. Dropping the node, also in a panic,
    /// does the same but cannot report an error.
    ///
    /// # Errors
    /// The clock's own errors.
    pub fn end_steering(&mut self) -> Result<()> {
        self.steering.as_mut().map_or(Ok(()), Steering::end)
    }

    /// Returns the error of the last command to the clock, if it failed.
    pub fn steering_error(&self) -> Option<&Error> {
        self.steering_error.as_ref()
    }

    /// Returns the offset that is not followed because it exceeds the configured limits, if there
    /// is one.
    pub fn refused_offset(&self) -> Option<RefusedOffset> {
        self.steering.as_ref().and_then(Steering::refused)
    }

    /// Whether the steered clock no longer timestamps the messages of the followed timeTransmitter,
    /// so that it must not be steered.
    fn steers_another_clock(&mut self) -> bool {
        let interface = self.followed().unwrap_or(&self.ports[0]).interface();
        if self.steered.is_none() || interface.description().hardware_clock == self.steered {
            return false;
        }
        let cause = "another hardware clock is behind the interface now";
        let error = Error::new(
            ErrorKind::NoSuchDevice,
            "steer the NIC's clock",
            interface.name(),
            cause,
        );
        let remedy = "it is steered again when it is back; to steer the other one, start again";
        self.steering_error = Some(error.with_remedy(remedy));
        true
    }

    pub(super) fn act(&mut self, now: MonotonicTime) {
        let is_another = self.steers_another_clock();
        let Some(steering) = &mut self.steering else {
            return;
        };
        let is_exchanged = if is_another {
            steering.leave(now)
        } else {
            steering.come_back()
        };
        if is_exchanged {
            self.ports.iter_mut().for_each(Port::restarted);
        }
        if is_another {
            return; // the existing error explains why it is not steered
        }
        if is_exchanged {
            self.steering_error = None;
        }
        let follows = self.judge.agreement().allows_following();
        let followed = self
            .ports
            .iter()
            .find(|port| follows && port.state() == PortState::TimeReceiver);
        steering.set_leap(if followed.is_some() {
            self.engine.followed_leap()
        } else {
            Leap::None
        });
        let acted = steering.act(followed.map(Port::estimator), now);
        if acted.restarted {
            steering.restart_history();
            self.ports.iter_mut().for_each(Port::restarted);
        }
        if let Some(result) = acted.result {
            self.steering_error = result.err();
        }
    }
}
