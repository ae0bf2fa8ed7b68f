//! Steering by a running PTP clock: which clock, when it is moved, and what comes of it.

use super::Node;
use crate::configuration::Clock;
use crate::engine::PortState;
use crate::port::Port;
use crate::steering::{Leap, RefusedOffset, SteeredClock, Steering};
use wirestamp::{Error, ErrorKind, MonotonicTime, Result};

impl Node<'_> {
    /// Starts to steer the clock that the configuration names; does nothing if it names none.
    ///
    /// # Errors
    /// `Busy` if another program that steers it runs, as far as that can be seen;
    /// `NotPermitted` without the privilege (Linux: `CAP_SYS_TIME`, or write access to the
    /// NIC's clock); `NotSupported` where no clock can be steered, or if the ports have
    /// NICs' clocks of their own: only one could follow.
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

    /// Starts to steer a clock of the caller's: the one that timestamps the messages of the port that
    /// follows a timeTransmitter. With [`Clock::Nic`] that is the one that is behind the interface of the first port now. It is left
    /// alone while the port that follows has another.
    ///
    /// # Errors
    /// Those of the clock.
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

    /// Ends steering: what remains in force is the frequency that was learnt. Dropping the node does the same,
    /// also while a panic unwinds, but can't say that it failed.
    ///
    /// # Errors
    /// Those of the clock.
    pub fn end_steering(&mut self) -> Result<()> {
        self.steering.as_mut().map_or(Ok(()), Steering::end)
    }

    /// Returns the error of the last attempt to move the clock, if it failed.
    pub fn steering_error(&self) -> Option<&Error> {
        self.steering_error.as_ref()
    }

    /// The offset that is not followed because it is beyond the configured limits, if there is one.
    pub fn refused_offset(&self) -> Option<RefusedOffset> {
        self.steering.as_ref().and_then(Steering::refused)
    }

    /// Whether the clock that is steered is no longer the one that timestamps the messages of the followed timeTransmitter: it is
    /// left alone then.
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
            return; // the error that stands says why it is not steered
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
