//! The driver's AF_XDP features, queried through the netlink family `netdev` (Linux 6.3; timestamps
//! of received packets since 6.6, of sent ones since 6.8).
//!
//! Source: `linux/netdev.h`, the kernel's `Documentation/netlink/specs/netdev.yaml`.

use super::super::error::system_error;
use super::super::ethtool;
use super::super::netlink;
use netlink_packet_core::{
    DecodeError, DefaultNla, Emitable, NLM_F_ACK, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage,
    NetlinkPayload, NlasIterator, Parseable, ParseableParametrized,
};
use netlink_packet_generic::{GenlFamily, GenlHeader, GenlMessage};
use netlink_sys::protocols::NETLINK_GENERIC;
use std::io;
use wirestamp_core::Result;
use wirestamp_core::interface::InterfaceDescription;
use wirestamp_core::xdp::XdpFeatures;

const DEV_GET: u8 = 1;
const INDEX: u16 = 1;
const XDP_FEATURES: u16 = 3;
const RECEIVE_METADATA: u16 = 5;
const SOCKET_FEATURES: u16 = 6;

/// Asks for them.
///
/// # Errors
/// `NotSupported` on kernels before 6.3; `NoSuchDevice`.
pub(super) fn ask(interface: &InterfaceDescription) -> Result<XdpFeatures> {
    let answer = exchange(interface);
    answer.map_err(|error| {
        let described = system_error("ask for AF_XDP features", &interface.name, &error);
        match error.raw_os_error() {
            Some(libc::EOPNOTSUPP) => {
                described.with_remedy("kernels before 6.3 don't say what a driver can do")
            }
            _ => described,
        }
    })
}

fn exchange(interface: &InterfaceDescription) -> io::Result<XdpFeatures> {
    let index = interface.index.get().to_ne_bytes().to_vec();
    let mut message = GenlMessage::from_payload(Device {
        command: DEV_GET,
        attributes: vec![DefaultNla::new(INDEX, index)],
    });
    let family = ethtool::family(Device::family_name()).map_err(|error| {
        // no such family: an older kernel
        match error.raw_os_error() {
            Some(libc::ENOENT) => io::Error::from_raw_os_error(libc::EOPNOTSUPP),
            _ => error,
        }
    });
    message.set_resolved_family_id(family?);
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST | NLM_F_ACK;
    let payload = NetlinkPayload::from(message);
    let answers = netlink::ask(NETLINK_GENERIC, NetlinkMessage::new(header, payload), false)?;
    let device = answers.into_iter().map(|answer| answer.into_parts().1);
    let found = device.map(|device| device.features()).next();
    found.ok_or_else(|| io::Error::from_raw_os_error(libc::EOPNOTSUPP))
}

/// A message about a device, its attributes undecoded.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Device {
    command: u8,
    attributes: Vec<DefaultNla>,
}

impl Device {
    /// A mask that the kernel does not send, because it does not know it, is empty.
    fn features(&self) -> XdpFeatures {
        let mask = |kind| {
            let value = ethtool::value(&self.attributes, kind)?;
            Some(u64::from_ne_bytes(*value.first_chunk()?))
        };
        let mask = |kind| mask(kind).unwrap_or(0);
        XdpFeatures::from_masks(
            mask(XDP_FEATURES),
            mask(RECEIVE_METADATA),
            mask(SOCKET_FEATURES),
        )
    }
}

impl GenlFamily for Device {
    fn family_name() -> &'static str {
        "netdev"
    }
    fn command(&self) -> u8 {
        self.command
    }
    fn version(&self) -> u8 {
        1
    }
}

impl Emitable for Device {
    fn buffer_len(&self) -> usize {
        self.attributes.as_slice().buffer_len()
    }
    fn emit(&self, buffer: &mut [u8]) {
        self.attributes.as_slice().emit(buffer);
    }
}

impl ParseableParametrized<[u8], GenlHeader> for Device {
    fn parse_with_param(bytes: &[u8], header: GenlHeader) -> Result<Self, DecodeError> {
        let attributes = NlasIterator::new(bytes)
            .map(|found| DefaultNla::parse(&found?))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            command: header.cmd,
            attributes,
        })
    }
}
