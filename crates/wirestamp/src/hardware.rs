//! Owns switching an adapter's hardware stamping: what to ask for, whether the driver's answer
//! serves, and putting back what was there. The switch itself is the backend's.

use crate::interface::Interface;
use wirestamp_core::backend::Backend;
use wirestamp_core::configuration::{HardwareConfiguration, ReceiveFilter};
use wirestamp_core::{Error, ErrorKind, Result};

const OPERATION: &str = "enable hardware timestamps";

/// What hardware stamping is wanted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum HardwareRequest {
    /// PTPv2 event messages over UDP: the narrowest filter that covers them.
    Ptp,
    /// Every packet.
    AllPackets,
    /// This, or what covers it.
    Exactly(HardwareConfiguration),
}

/// Hardware stamping that is switched on. Dropping it restores the previous configuration,
/// unless somebody else has changed it meanwhile.
#[derive(Debug)]
#[must_use = "dropping the guard restores the previous configuration at once"]
pub struct HardwareGuard {
    interface: Interface,
    granted: HardwareConfiguration,
    /// What the driver tells of it afterwards. One that granted "some" can tell what was wanted.
    told: HardwareConfiguration,
    previous: Option<HardwareConfiguration>,
    armed: bool,
}

impl HardwareRequest {
    /// What to try, best first.
    fn candidates(self) -> Vec<HardwareConfiguration> {
        let with = |receive| HardwareConfiguration { transmit: true, receive };
        match self {
            Self::Ptp => [ReceiveFilter::PtpV2Udp, ReceiveFilter::PtpV2, ReceiveFilter::All].map(with).to_vec(),
            Self::AllPackets => vec![with(ReceiveFilter::All)],
            Self::Exactly(configuration) => vec![configuration],
        }
    }

    fn is_served_by(self, wanted: HardwareConfiguration, granted: HardwareConfiguration) -> bool {
        let receives = match self {
            // "some" says: what was asked for, and others
            _ if granted.receive == ReceiveFilter::Some => wanted.receive != ReceiveFilter::All,
            Self::Ptp => granted.receive.stamps_ptp_v2_udp_events(),
            Self::AllPackets | Self::Exactly(_) => covers(granted.receive, wanted.receive),
        };
        receives && (granted.transmit || !wanted.transmit)
    }
}

/// Whether every packet that `wanted` stamps is stamped by `granted` too.
fn covers(granted: ReceiveFilter, wanted: ReceiveFilter) -> bool {
    use ReceiveFilter as F;
    granted == wanted
        || matches!(
            (granted, wanted),
            (F::All, _)
                | (_, F::None)
                | (F::PtpV1Udp, F::PtpV1UdpSync | F::PtpV1UdpDelayRequest)
                | (F::PtpV2Udp, F::PtpV2UdpSync | F::PtpV2UdpDelayRequest)
                | (F::PtpV2Ethernet, F::PtpV2EthernetSync | F::PtpV2EthernetDelayRequest)
                | (F::PtpV2Sync, F::PtpV2UdpSync | F::PtpV2EthernetSync)
                | (F::PtpV2DelayRequest, F::PtpV2UdpDelayRequest | F::PtpV2EthernetDelayRequest)
                | (
                    F::PtpV2,
                    F::PtpV2Udp
                        | F::PtpV2UdpSync
                        | F::PtpV2UdpDelayRequest
                        | F::PtpV2Ethernet
                        | F::PtpV2EthernetSync
                        | F::PtpV2EthernetDelayRequest
                        | F::PtpV2Sync
                        | F::PtpV2DelayRequest
                )
        )
}

impl HardwareGuard {
    pub(crate) fn enable(interface: &Interface, request: HardwareRequest) -> Result<Self> {
        let previous = interface.configuration().ok();
        let mut refused = Vec::new();
        for wanted in request.candidates() {
            match interface.host().configure(interface.description(), wanted) {
                Ok(granted) => {
                    let told = told(interface, granted);
                    let guard = Self { interface: interface.clone(), granted, told, previous, armed: true };
                    if request.is_served_by(wanted, granted) {
                        return Ok(guard);
                    }
                    refused.push((wanted, unserved(interface, granted)));
                    drop(guard); // restores
                }
                Err(error) if may_try_another(error.kind()) => refused.push((wanted, error)),
                Err(error) => return Err(error),
            }
        }
        Err(summed_up(interface, refused))
    }

    /// What the driver really granted: it may stamp more than was asked for.
    pub fn granted(&self) -> HardwareConfiguration {
        self.granted
    }

    /// What was in force before; `None` if the driver could not tell. Off is restored then.
    pub fn previous(&self) -> Option<HardwareConfiguration> {
        self.previous
    }

    /// Leaves hardware stamping as it is now.
    pub fn keep(mut self) {
        self.armed = false;
    }

    /// Restores the previous configuration and says whether that worked.
    ///
    /// # Errors
    /// `Busy` if somebody else has changed the configuration: it is left alone. Otherwise as
    /// [`Interface::enable_hardware`].
    pub fn restore(mut self) -> Result<()> {
        self.armed = false;
        self.put_back()
    }

    fn put_back(&self) -> Result<()> {
        let operation = "restore the hardware timestamp configuration";
        if let Ok(current) = self.interface.configuration()
            && current != self.told
        {
            let cause = format!("another program has changed it to {}", shown(current));
            return Err(Error::new(ErrorKind::Busy, operation, self.interface.name(), cause)
                .with_remedy("it was left alone; switch it off by hand if nobody needs it"));
        }
        let previous = self.previous.unwrap_or(HardwareConfiguration::OFF);
        self.interface.host().configure(self.interface.description(), previous).map(drop)
    }
}

impl Drop for HardwareGuard {
    fn drop(&mut self) {
        if self.armed {
            // nobody is left to be told; `restore` tells
            let _ = self.put_back();
        }
    }
}

/// What the driver will answer while nobody changes `granted`.
fn told(interface: &Interface, granted: HardwareConfiguration) -> HardwareConfiguration {
    if granted.receive == ReceiveFilter::Some { interface.configuration().unwrap_or(granted) } else { granted }
}

/// Whether the driver may still accept another filter.
fn may_try_another(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotSupported | ErrorKind::InvalidInput)
}

fn shown(configuration: HardwareConfiguration) -> String {
    let transmit = if configuration.transmit { "on" } else { "off" };
    format!("transmit {transmit}, receive {}", configuration.receive.name())
}

fn unserved(interface: &Interface, granted: HardwareConfiguration) -> Error {
    let cause = format!("the driver granted {} instead", shown(granted));
    Error::new(ErrorKind::NotSupported, OPERATION, interface.name(), cause)
}

fn summed_up(interface: &Interface, mut refused: Vec<(HardwareConfiguration, Error)>) -> Error {
    let answers: Vec<_> =
        refused.iter().map(|(wanted, error)| format!("{} ({})", shown(*wanted), error.cause())).collect();
    let Some((_, last)) = refused.pop() else {
        return Error::new(ErrorKind::InvalidInput, OPERATION, interface.name(), "nothing was asked for");
    };
    // Who can't do it at all gives one answer to all.
    let cannot = last.kind() == ErrorKind::NotSupported && refused.iter().all(|(_, error)| *error == last);
    if cannot || refused.is_empty() && last.code().is_some() {
        return last;
    }
    let cause = format!("the driver refused {}", answers.join(", then "));
    let error = Error::new(last.kind(), OPERATION, interface.name(), cause)
        .with_remedy("see the supported capabilities of the interface, or use software timestamps");
    last.code().map_or(error.clone(), |code| error.with_code(code))
}
