//! `TSCONFIG` of the ethtool netlink family (Linux 6.14 and later): the second road to
//! the hardware timestamping configuration, where there is no ioctl.
//!
//! Source: `linux/ethtool_netlink.h`; numbers and traps in the kernel's
//! `Documentation/networking/ethtool-netlink.rst`.

use super::netlink;
use super::wire::nic::HwtstampConfig;
use netlink_packet_core::{
    DecodeError, DefaultNla, Emitable, NLA_F_NESTED, NLM_F_ACK, NLM_F_REQUEST, NetlinkHeader,
    NetlinkMessage, NetlinkPayload, Nla, NlasIterator, Parseable, ParseableParametrized,
};
use netlink_packet_generic::constants::GENL_ID_CTRL;
use netlink_packet_generic::ctrl::nlas::GenlCtrlAttrs;
use netlink_packet_generic::ctrl::{GenlCtrl, GenlCtrlCmd};
use netlink_packet_generic::{GenlFamily, GenlHeader, GenlMessage};
use netlink_sys::protocols::NETLINK_GENERIC;
use std::io;
use wirestamp_core::interface::InterfaceDescription;

const TSCONFIG_GET: u8 = 46;
const TSCONFIG_SET: u8 = 47;
// Attributes of TSCONFIG.
const HEADER: u16 = 1;
const TX_TYPES: u16 = 3;
const RX_FILTERS: u16 = 4;
// Attributes of a header, of a bit set, of a list of bits, of a bit.
const HEADER_DEV_INDEX: u16 = 1;
const BITSET_NOMASK: u16 = 1;
const BITSET_BITS: u16 = 3;
const BITS_BIT: u16 = 1;
const BIT_INDEX: u16 = 1;

/// Reads the configuration of `interface`.
pub(super) fn configuration(interface: &InterfaceDescription) -> io::Result<HwtstampConfig> {
    let answers = exchange(Tsconfig {
        command: TSCONFIG_GET,
        attributes: vec![header(interface)],
    })?;
    answers
        .first()
        .and_then(Tsconfig::config)
        .ok_or_else(no_answer)
}

/// Sets the configuration of `interface`; returns what is in force then.
pub(super) fn configure(
    interface: &InterfaceDescription,
    wanted: HwtstampConfig,
) -> io::Result<HwtstampConfig> {
    let attributes = vec![
        header(interface),
        one_bit(TX_TYPES, wanted.tx_type),
        one_bit(RX_FILTERS, wanted.rx_filter),
    ];
    let answers = exchange(Tsconfig {
        command: TSCONFIG_SET,
        attributes,
    })?;
    answers
        .first()
        .and_then(Tsconfig::config)
        .ok_or_else(no_answer)
}

fn no_answer() -> io::Error {
    io::Error::from_raw_os_error(libc::EOPNOTSUPP)
}

fn exchange(request: Tsconfig) -> io::Result<Vec<Tsconfig>> {
    let mut message = GenlMessage::from_payload(request);
    message.set_resolved_family_id(family(Tsconfig::family_name())?);
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST | NLM_F_ACK;
    let answers = netlink::ask(
        NETLINK_GENERIC,
        NetlinkMessage::new(header, NetlinkPayload::from(message)),
        false,
    )?;
    Ok(answers
        .into_iter()
        .map(|answer| answer.into_parts().1)
        .collect())
}

/// The number of a family, which the kernel chooses at run time.
pub(super) fn family(name: &str) -> io::Result<u16> {
    let request = GenlCtrl {
        cmd: GenlCtrlCmd::GetFamily,
        nlas: vec![GenlCtrlAttrs::FamilyName(name.into())],
    };
    let mut message = GenlMessage::from_payload(request);
    message.set_resolved_family_id(GENL_ID_CTRL);
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST;
    let answers = netlink::ask(
        NETLINK_GENERIC,
        NetlinkMessage::new(header, NetlinkPayload::from(message)),
        false,
    )?;
    let id = answers
        .iter()
        .flat_map(|answer| &answer.payload.nlas)
        .find_map(|attribute| match attribute {
            GenlCtrlAttrs::FamilyId(id) => Some(*id),
            _ => None,
        });
    id.ok_or_else(no_answer)
}

fn attribute(kind: u16, value: Vec<u8>) -> DefaultNla {
    DefaultNla::new(kind, value)
}

fn nest(kind: u16, inner: &[DefaultNla]) -> DefaultNla {
    let mut value = vec![0; inner.buffer_len()];
    inner.emit(&mut value);
    attribute(kind | NLA_F_NESTED, value)
}

fn header(interface: &InterfaceDescription) -> DefaultNla {
    nest(
        HEADER,
        &[attribute(
            HEADER_DEV_INDEX,
            interface.index.get().to_ne_bytes().to_vec(),
        )],
    )
}

/// A bit set of exactly one bit. Without a mask: with one, the other bits would stay set.
fn one_bit(kind: u16, bit: i32) -> DefaultNla {
    let index = attribute(BIT_INDEX, bit.to_ne_bytes().to_vec());
    let bits = nest(BITSET_BITS, &[nest(BITS_BIT, &[index])]);
    nest(kind, &[attribute(BITSET_NOMASK, Vec::new()), bits])
}

/// A TSCONFIG message, its attributes undecoded.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Tsconfig {
    command: u8,
    attributes: Vec<DefaultNla>,
}

impl Tsconfig {
    fn config(&self) -> Option<HwtstampConfig> {
        let only_bit = |kind| {
            let set = value(&self.attributes, kind)?;
            let bits = find(&set, BITSET_BITS)?;
            let index = find(&find(&bits, BITS_BIT)?, BIT_INDEX)?;
            Some(i32::from_ne_bytes(*index.first_chunk()?))
        };
        Some(HwtstampConfig {
            flags: 0,
            tx_type: only_bit(TX_TYPES)?,
            rx_filter: only_bit(RX_FILTERS)?,
        })
    }
}

/// The value of an attribute.
pub(super) fn value(attributes: &[DefaultNla], kind: u16) -> Option<Vec<u8>> {
    let found = attributes
        .iter()
        .find(|attribute| attribute.kind() & !NLA_F_NESTED == kind)?;
    let mut bytes = vec![0; found.value_len()];
    found.emit_value(&mut bytes);
    Some(bytes)
}

fn find(nested: &[u8], kind: u16) -> Option<Vec<u8>> {
    NlasIterator::new(nested)
        .filter_map(Result::ok)
        .find(|attribute| attribute.kind() == kind)
        .map(|found| found.value().to_vec())
}

impl GenlFamily for Tsconfig {
    fn family_name() -> &'static str {
        "ethtool"
    }
    fn command(&self) -> u8 {
        self.command
    }
    fn version(&self) -> u8 {
        1
    }
}

impl Emitable for Tsconfig {
    fn buffer_len(&self) -> usize {
        self.attributes.as_slice().buffer_len()
    }
    fn emit(&self, buffer: &mut [u8]) {
        self.attributes.as_slice().emit(buffer);
    }
}

impl ParseableParametrized<[u8], GenlHeader> for Tsconfig {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native::interface;

    #[test]
    fn one_bit_is_read_back() {
        let message = Tsconfig {
            command: 47,
            attributes: vec![one_bit(TX_TYPES, 1), one_bit(RX_FILTERS, 12)],
        };
        assert_eq!(
            message.config(),
            Some(HwtstampConfig {
                flags: 0,
                tx_type: 1,
                rx_filter: 12
            })
        );
        assert_eq!(
            Tsconfig {
                attributes: vec![one_bit(TX_TYPES, 1)],
                ..message
            }
            .config(),
            None
        );
    }

    #[test]
    fn the_kernel_understands_the_request_and_refuses_for_loopback() {
        let interfaces = interface::list().expect("a list");
        let loopback = interfaces
            .iter()
            .find(|interface| interface.loopback)
            .expect("loopback");
        let refused = configuration(loopback).expect_err("loopback has no hardware");
        // EINVAL would mean that the message was malformed. Kernels before 6.14 lack TSCONFIG
        // and answer the same EOPNOTSUPP.
        assert_eq!(refused.raw_os_error(), Some(libc::EOPNOTSUPP), "{refused}");
    }
}
