use super::*;
use crate::abi::codes::{WSAEFAULT, WSAEINVAL};

fn read(level: i32, name: i32, value: &[u8]) -> Result<Value, i32> {
    Setting::read(level, name, value).map(|setting| setting.value)
}

#[test]
fn a_group_is_named_with_an_address_or_an_index() {
    let by_address = read(
        n::IPPROTO_IP,
        n::IP_ADD_MEMBERSHIP,
        &[224, 0, 1, 129, 192, 0, 2, 1],
    );
    let group = IpAddr::V4(Ipv4Addr::new(224, 0, 1, 129));
    let place = Place::Address(Ipv4Addr::new(192, 0, 2, 1));
    assert_eq!(
        by_address,
        Ok(Value::Membership {
            join: true,
            group,
            place
        })
    );
    let by_index = read(
        n::IPPROTO_IP,
        n::IP_DROP_MEMBERSHIP,
        &[224, 0, 1, 129, 0, 0, 3, 232],
    );
    assert_eq!(
        by_index,
        Ok(Value::Membership {
            join: false,
            group,
            place: Place::Index(1_000)
        })
    );
    assert_eq!(
        read(
            n::IPPROTO_IP,
            n::IP_ADD_MEMBERSHIP,
            &[192, 0, 2, 9, 0, 0, 0, 0]
        ),
        Err(WSAEINVAL)
    );
}

#[test]
fn short_values_unknown_options_and_levels_have_their_errors() {
    assert_eq!(read(n::SOL_SOCKET, n::SO_RCVTIMEO, &[]), Err(WSAEFAULT));
    assert_eq!(
        read(n::SOL_SOCKET, n::SO_RCVTIMEO, &[1, 2, 3]),
        Err(WSAEFAULT)
    );
    assert_eq!(
        read(
            n::IPPROTO_IP,
            n::IP_ADD_MEMBERSHIP,
            &[224, 0, 0, 1, 0, 0, 0]
        ),
        Err(WSAEFAULT)
    );
    assert_eq!(
        read(n::IPPROTO_IPV6, n::IPV6_ADD_MEMBERSHIP, &[0xFF; 16]),
        Err(WSAEFAULT)
    );
    assert_eq!(read(n::SOL_SOCKET, 0x7777, &[0; 4]), Err(WSAENOPROTOOPT));
    assert_eq!(read(12_345, 1, &[0; 4]), Err(WSAEINVAL));
    assert_eq!(
        read(n::IPPROTO_IP, n::IP_TTL, &256u32.to_ne_bytes()),
        Err(WSAEINVAL)
    );
}

#[test]
fn what_was_set_last_is_answered_and_a_default_before() {
    let mut settings = Settings::new(true);
    let ask =
        |settings: &Settings, level, name| settings.answer(level, name).map(u32::from_ne_bytes);
    assert_eq!(ask(&settings, n::IPPROTO_IPV6, n::IPV6_V6ONLY), Ok(1));
    assert_eq!(ask(&settings, n::IPPROTO_IP, n::IP_MULTICAST_TTL), Ok(1));
    for milliseconds in [500u32, 20] {
        let setting = Setting::read(n::SOL_SOCKET, n::SO_RCVTIMEO, &milliseconds.to_ne_bytes())
            .expect("valid");
        settings.record(setting);
        assert_eq!(
            ask(&settings, n::SOL_SOCKET, n::SO_RCVTIMEO),
            Ok(milliseconds)
        );
        assert_eq!(settings.receive_timeout(), milliseconds);
    }
    assert_eq!(settings.all().len(), 2, "replaced, not added");
    assert_eq!(
        settings.answer(n::IPPROTO_IP, n::IP_ADD_MEMBERSHIP),
        Err(WSAENOPROTOOPT)
    );
    assert_eq!(
        settings.answer(n::IPPROTO_IPV6, n::IPV6_ADD_MEMBERSHIP),
        Err(WSAENOPROTOOPT)
    );
}

#[test]
fn groups_add_up_and_leaving_takes_one_away() {
    let mut settings = Settings::new(false);
    let membership = |name, last| {
        Setting::read(n::IPPROTO_IP, name, &[224, 0, 1, last, 192, 0, 2, 1]).expect("valid")
    };
    settings.record(membership(n::IP_ADD_MEMBERSHIP, 129));
    settings.record(membership(n::IP_ADD_MEMBERSHIP, 130));
    settings.record(membership(n::IP_DROP_MEMBERSHIP, 129));
    assert_eq!(settings.all(), [membership(n::IP_ADD_MEMBERSHIP, 130)]);
}

#[test]
fn packet_information_of_one_family_is_not_that_of_the_other() {
    let mut settings = Settings::new(true);
    settings.record(Setting::read(n::IPPROTO_IPV6, n::IPV6_PKTINFO, &[1, 0, 0, 0]).expect("valid"));
    assert!(settings.packet_information(true) && !settings.packet_information(false));
}
