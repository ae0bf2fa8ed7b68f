//! Which interfaces lead out, by messages of the kernel and by the kernel itself.

use super::*;
use crate::native::interface;
use crate::native::namespace::{Another, in_namespace, ip};
use netlink_packet_route::link::InfoPortKind;

/// An interface of this number and kind.
struct One(LinkMessage);

impl One {
    fn new(index: u32, kind: InfoKind) -> Self {
        let mut link = LinkMessage::default();
        link.header.index = index;
        link.attributes = vec![LinkAttribute::LinkInfo(vec![LinkInfo::Kind(kind)])];
        Self(link)
    }

    fn with(mut self, attribute: LinkAttribute) -> Self {
        self.0.attributes.push(attribute);
        self
    }

    /// Over an interface of this namespace.
    fn over(self, lower: u32) -> Self {
        self.with(LinkAttribute::Link(lower))
    }

    /// Over one of another namespace, or with its other end there.
    fn elsewhere(self) -> Self {
        self.over(2).with(LinkAttribute::LinkNetNsId(0))
    }

    fn port_of(self, upper: u32, kind: InfoPortKind) -> Self {
        self.with(LinkAttribute::Controller(upper))
            .with(LinkAttribute::LinkInfo(vec![LinkInfo::PortKind(kind)]))
    }
}

fn links(all: impl IntoIterator<Item = One>) -> Links {
    Links(all.into_iter().map(|one| one.0).collect())
}

fn number(index: u32) -> InterfaceIndex {
    InterfaceIndex::new(index).expect("not zero")
}

fn ways(links: &Links) -> Vec<u32> {
    let ways = links.ways_out();
    ways.into_iter().map(InterfaceIndex::get).collect()
}

/// The NIC 2 of this namespace, and what the tests add.
fn beside_a_nic(others: impl IntoIterator<Item = One>) -> Links {
    let mut nic = LinkMessage::default();
    nic.header.index = 2;
    links(std::iter::once(One(nic)).chain(others))
}

#[test]
fn what_stands_on_an_interface_that_leads_out_leads_out_too() {
    let found = beside_a_nic([
        One::new(3, InfoKind::MacVlan).elsewhere(),
        One::new(4, InfoKind::Vlan).over(3),
        One::new(5, InfoKind::IpVlan).over(4),
        One::new(6, InfoKind::Vlan).over(2),
    ]);
    assert_eq!(ways(&found), [3, 4, 5]);
    assert_eq!(found.maker(number(4)), Some(Maker::Itself(number(3))));
    assert_eq!(found.maker(number(5)), Some(Maker::Itself(number(5))));
    assert_eq!(found.maker(number(6)), Some(Maker::Device(number(2))));
    assert_eq!(found.maker(number(9)), None);
}

#[test]
fn a_bond_with_a_member_that_leads_out_leads_out() {
    for (kind, port) in [
        (InfoKind::Bond, InfoPortKind::Bond),
        (InfoKind::Team, InfoPortKind::Team),
    ] {
        let found = beside_a_nic([
            One::new(3, InfoKind::MacVlan)
                .elsewhere()
                .port_of(5, port.clone()),
            One::new(4, InfoKind::Dummy).port_of(5, port),
            One::new(5, kind.clone()),
            One::new(6, InfoKind::Vlan).over(5),
            One::new(7, kind),
        ]);
        // what comes by the member comes to the bond
        assert_eq!(ways(&found), [5, 6]);
        assert_eq!(found.maker(number(6)), Some(Maker::Itself(number(5))));
        let other = found.maker(number(7)).expect("listed");
        assert!(matches!(other, Maker::Member(_) | Maker::Several));
    }
}

#[test]
fn a_port_of_a_bridge_is_no_way_out_and_one_of_a_vrf_is() {
    let veth = |kind| One::new(3, InfoKind::Veth).elsewhere().port_of(4, kind);
    let bridge = [
        veth(InfoPortKind::Bridge),
        One::new(4, InfoKind::Bridge),
        One::new(5, InfoKind::Vxlan),
    ];
    let bridge = beside_a_nic(bridge);
    assert!(ways(&bridge).is_empty());
    assert_eq!(bridge.maker(number(4)), Some(Maker::Several));
    assert_eq!(bridge.maker(number(5)), Some(Maker::Routed));
    let vrf = [
        veth(InfoPortKind::Vrf),
        One::new(4, InfoKind::Vrf),
        One::new(5, InfoKind::Vxlan),
        One::new(6, InfoKind::Vlan).over(5),
    ];
    // what is routed can leave by it: the VRF's packets, a tunnel's, and those of a VLAN over that
    assert_eq!(ways(&beside_a_nic(vrf)), [3, 4, 5, 6]);
}

#[test]
fn ways_out_are_the_interfaces_that_lead_into_other_namespaces() {
    in_namespace("ways out", || {
        let ways = || Links::now().expect("listed").ways_out();
        assert!(ways().is_empty());
        let elsewhere = Another::new("ways");
        for made in [
            "link add one type veth peer name other",
            "link add bridge type bridge",
            &format!("link set other netns {}", elsewhere.name()),
        ] {
            ip(made).expect("made");
        }
        let all = interface::list().expect("a list");
        let one = all.iter().find(|found| found.name == "one");
        let one = one.expect("it is there").index;
        assert_eq!(ways(), [one].into());
        let now = Links::now().expect("listed");
        assert_eq!(now.maker(one), Some(Maker::Itself(one)));
        ip("link set one master bridge").expect("made");
        assert!(ways().is_empty(), "what it takes comes to the bridge");
    });
}
