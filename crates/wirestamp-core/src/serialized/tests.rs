//! The names and units of the serialised form are public, every value is read back unchanged, and
//! the rules of the constructors cannot be bypassed.

use crate::backend::{Change, ChangeKind};
use crate::capability::{AddressFamily, Capabilities, Direction, PtpVerdict, TimestampSource};
use crate::configuration::{
    Engine, Granted, HardwareConfiguration, IoUringUnavailable, ReceiveFilter, Source, Timestamping,
};
use crate::correlate::{
    ClockGeneration, ConversionError, Estimate, FineEstimate, FrequencyEstimate, GenerationCause,
    HardwareEstimate,
};
use crate::cross::{CrossMethod, CrossTimestamp};
use crate::error::{Error, ErrorKind};
use crate::ethernet::{FrameDestination, MacAddress, VlanTag};
use crate::interface::{InterfaceAddress, InterfaceDescription, InterfaceIndex, InterfaceState};
use crate::time::{
    Bounded, Frequency, HardwareTicks, Monotonic, MonotonicTime, Span, Utc, UtcCrossTimestamp,
    UtcTime,
};
use crate::timestamp::{
    HardwareTimestamp, MissingReason, SoftwareTimestamp, Timestamps, TransmitAnswer,
    TransmitCounters, TransmitId, TransmitOutcome, TransmitRecord,
};
use alloc::string::{String, ToString};
use alloc::vec;
use core::fmt::Debug;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, from_value, json, to_value};

/// Asserts that `value` is written as `expected` and read back unchanged.
#[track_caller]
fn both_ways<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T, expected: Value) {
    assert_eq!(to_value(value).expect("serialises"), expected);
    let read: T = from_value(expected).expect("deserialises");
    assert_eq!(&read, value);
}

/// The error that rejects `value` as a `T`.
#[track_caller]
fn refused<T: DeserializeOwned + Debug>(value: Value) -> String {
    from_value::<T>(value).expect_err("refused").to_string()
}

fn at(nanoseconds: i64) -> MonotonicTime {
    MonotonicTime::from_nanoseconds(nanoseconds)
}

fn ns(nanoseconds: i128) -> Span {
    Span::from_nanoseconds(nanoseconds)
}

fn interface(number: u32) -> Option<InterfaceIndex> {
    InterfaceIndex::new(number)
}

#[test]
fn ethernet_addresses_are_texts_and_tags_are_parts() {
    both_ways(&MacAddress::PTP_PRIMARY, json!("01:1b:19:00:00:00"));
    assert!(refused::<MacAddress>(json!("01:1b:19")).contains("not a MAC address"));
    let destination = FrameDestination::new(MacAddress::BROADCAST, VlanTag::new(5, 3));
    assert_eq!(
        to_value(destination).expect("serialises"),
        json!({
            "address": "ff:ff:ff:ff:ff:ff",
            "vlan": {"vlan": 5, "priority": 3, "drop_eligible": false}
        })
    );
}

#[test]
fn timestamps_name_clock_and_unit() {
    let software = SoftwareTimestamp {
        at: Bounded::new(at(-5), ns(1)),
        utc: Some(UtcTime::from_nanoseconds(1_700_000_000_000_000_000)),
        clock_stepped: false,
    };
    let hardware = HardwareTimestamp {
        ticks: HardwareTicks::new(u64::MAX),
        interface: interface(3),
        read_at: at(9),
    };
    let written = json!({
        "software": {
            "monotonic_ns": -5, "error_bound_ns": 1, "utc_ns": 1_700_000_000_000_000_000_i64,
            "clock_stepped": false,
        },
        "hardware": {"hardware_ticks": u64::MAX, "interface": 3, "read_at_monotonic_ns": 9},
    });
    let timestamps = Timestamps {
        software: Some(software),
        hardware: Some(hardware),
    };
    both_ways(&timestamps, written.clone());
    let record = TransmitRecord {
        id: TransmitId(7),
        outcome: TransmitOutcome::Timestamped(timestamps),
        queued: None,
    };
    both_ways(
        &record,
        json!({"id": 7, "outcome": {"timestamped": written.clone()}}),
    );
    let in_queue = written["software"].clone();
    both_ways(
        &record.with_queued(Some(software)),
        json!({"id": 7, "outcome": {"timestamped": written}, "queued": in_queue}),
    );
    let missing = TransmitOutcome::Missing(MissingReason::BufferFull);
    both_ways(
        &TransmitAnswer::Resolved(missing),
        json!({"resolved": {"missing": "buffer_full"}}),
    );
    both_ways(&TransmitAnswer::NotEnabled, json!("not_enabled"));
    assert_eq!(
        from_value::<Timestamps>(json!({})).ok(),
        Some(Timestamps::NONE)
    );
}

#[test]
fn a_cross_timestamp_is_what_the_program_prints_and_its_rules_hold() {
    let reading = |before, hardware, after| {
        CrossTimestamp::new(
            at(before),
            HardwareTicks::new(hardware),
            at(after),
            CrossMethod::Extended,
        )
    };
    let written = |before: i64, hardware: u64, after: i64, bracket: Option<i64>| {
        json!({
            "monotonic_before_ns": before, "hardware_ticks": hardware, "monotonic_after_ns": after,
            "bracket_ns": bracket, "method": "extended",
        })
    };
    both_ways(
        &reading(10, 5, 30).expect("valid"),
        written(10, 5, 30, Some(20)),
    );
    both_ways(
        &reading(10, 5, 10).expect("valid"),
        written(10, 5, 10, None),
    );
    for (before, hardware, after) in [(0, 5, 30), (10, 0, 30), (10, 5, 0), (30, 5, 10)] {
        let why = reading(before, hardware, after).expect_err("invalid");
        let written = written(before, hardware, after, None);
        assert_eq!(refused::<CrossTimestamp>(written), why.to_string());
    }
    let utc = UtcCrossTimestamp {
        before: at(1),
        utc: UtcTime::from_nanoseconds(5),
        after: at(2),
    };
    let written = json!({"monotonic_before_ns": 1, "utc_ns": 5, "monotonic_after_ns": 2});
    both_ways(&utc, written);
    let backwards = json!({"monotonic_before_ns": 2, "utc_ns": 5, "monotonic_after_ns": 1});
    refused::<UtcCrossTimestamp>(backwards);
}

#[test]
fn an_estimate_is_called_by_its_clock_and_read_as_no_other() {
    let generation = ClockGeneration(3);
    let estimate = Estimate::<Utc> {
        at: Bounded::new(UtcTime::from_nanoseconds(11), ns(4)),
        generation,
    };
    let written = json!({"utc_ns": 11, "error_bound_ns": 4, "generation": 3});
    both_ways(&estimate, written.clone());
    let why = refused::<Estimate<Monotonic>>(written);
    assert_eq!(why, "no instant of the monotonic clock");
    refused::<Estimate<Utc>>(json!({"utc_ns": 11, "error_bound_ns": -1, "generation": 3}));

    let fine = FineEstimate::<Monotonic> {
        at: at(-1),
        picoseconds: 999,
        bound_picoseconds: 7,
        generation,
    };
    let written = |picoseconds: u16| {
        json!({
            "monotonic_ns": -1, "picoseconds": picoseconds, "error_bound_ps": 7, "generation": 3,
        })
    };
    both_ways(&fine, written(999));
    refused::<FineEstimate<Monotonic>>(written(1_000));

    let ticks = HardwareEstimate {
        ticks: HardwareTicks::new(9),
        bound: 2,
        generation,
    };
    let written = json!({"hardware_ticks": 9, "error_bound_ticks": 2, "generation": 3});
    both_ways(&ticks, written);
    let frequency = FrequencyEstimate {
        hertz: 1e9,
        error_bound_parts_per_billion: 2.5,
        generation,
    };
    let written = json!({"hertz": 1e9, "error_bound_parts_per_billion": 2.5, "generation": 3});
    both_ways(&frequency, written);
}

#[test]
fn what_stands_for_unknown_is_no_value() {
    refused::<InterfaceIndex>(json!(0));
    refused::<Frequency>(json!(0));
    let timestamp = json!({"hardware_ticks": 0, "interface": 1, "read_at_monotonic_ns": 1});
    let why = refused::<HardwareTimestamp>(timestamp);
    assert_eq!(
        why,
        "a hardware timestamp of zero ticks, which stands for none"
    );
    let ages = ns(i128::from(i64::MAX) + 1);
    assert!(to_value(ages).is_err());
    both_ways(&ns(i64::MIN.into()), json!(i64::MIN));
}

#[test]
fn capabilities_and_configurations_name_their_units() {
    let mut capabilities = Capabilities {
        nominal_frequency: Frequency::from_hertz(125_000_000),
        ..Capabilities::default()
    };
    capabilities.hardware.all_receive = true;
    let written = to_value(capabilities).expect("serialises");
    assert_eq!(written["nominal_frequency_hz"], 125_000_000);
    assert_eq!(written["hardware"]["all_receive"], true);
    assert_eq!(
        written["hardware"].as_object().map(serde_json::Map::len),
        Some(11)
    );
    both_ways(&capabilities, written);

    let configuration = HardwareConfiguration {
        transmit: true,
        receive: ReceiveFilter::PtpV2Udp,
    };
    both_ways(
        &configuration,
        json!({"transmit": true, "receive": "ptpv2_udp"}),
    );
    refused::<ReceiveFilter>(json!("ptp_v2_udp"));

    let short = json!({"receive": true, "engine": {"ring": {"longest_bytes": 1472}}});
    let read: Timestamping = from_value(short).expect("what is left out is off");
    assert_eq!(
        read,
        Timestamping::OFF
            .receive()
            .engine(Engine::Ring { longest: 1472 })
    );
    refused::<Timestamping>(json!({"recieve": true}));
    let granted = Granted::new(read.source(Source::Both), Some(212));
    let refused_ring = IoUringUnavailable::new("this system has calls only", None);
    assert_eq!(
        to_value(granted).expect("serialises")["receive_ring"],
        json!({"refused": {"cause": refused_ring.cause, "code": null}})
    );
}

#[test]
fn an_interface_is_described_as_the_program_lists_it() {
    let mut description = InterfaceDescription::new("eth0", interface(2).expect("not zero"));
    let address = |text: &str| text.parse::<InterfaceAddress>();
    description.addresses = vec![address("192.0.2.1/24").expect("an address")];
    description.state = InterfaceState::NoCarrier;
    description.mac_address = Some(MacAddress::new([2, 0, 0, 0, 0, 0x1f]));
    let written = to_value(&description).expect("serialises");
    assert_eq!(written["mac_address"], "02:00:00:00:00:1f");
    assert_eq!(written["addresses"], json!(["192.0.2.1/24"]));
    assert_eq!(written["state"], "no_carrier");
    both_ways(&description, written);
    for wrong in [
        "192.0.2.1",
        "192.0.2.1/33",
        "2001:db8::1/129",
        "x/8",
        "192.0.2.1/+8x",
    ] {
        assert!(address(wrong).is_err(), "{wrong}");
    }
    assert_eq!(
        address("2001:db8::1/128")
            .expect("an address")
            .prefix_length,
        128
    );
}

#[test]
fn counters_tell_the_missing_by_reason() {
    let mut counters = TransmitCounters {
        sent: 3,
        ..TransmitCounters::default()
    };
    counters.missing[MissingReason::Deadline as usize] = 2;
    let written = to_value(counters).expect("serialises");
    let by_reason = json!({
        "buffer_full": 0, "never_generated": 0, "deadline": 2, "reset": 0, "socket_closed": 0,
        "clock_stepped": 0, "not_supported": 0,
    });
    assert_eq!(written["missing"], by_reason);
    both_ways(&counters, written.clone());
    let mut unknown = written;
    unknown["missing"]["sloth"] = json!(1);
    refused::<TransmitCounters>(unknown);
}

#[test]
fn an_error_says_everything_it_knows_and_null_for_the_rest() {
    let error = Error::new(ErrorKind::NotPermitted, "enable", "eth0", "not permitted").with_code(1);
    let written = json!({
        "kind": "not_permitted", "operation": "enable", "target": "eth0", "cause": "not permitted",
        "code": 1, "remedy": null, "message": "eth0: cannot enable: not permitted (code 1)",
    });
    both_ways(&error, written);
    let error = error.with_remedy("run as root");
    let written = to_value(&error).expect("serialises");
    assert_eq!(written["remedy"], "run as root");
    both_ways(&error, written);
}

/// The derived names equal those that the program prints.
#[test]
fn enums_are_their_names() {
    fn named<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T, name: &str) {
        both_ways(value, json!(name));
    }
    MissingReason::ALL
        .iter()
        .for_each(|reason| named(reason, reason.name()));
    ReceiveFilter::ALL
        .iter()
        .for_each(|filter| named(filter, filter.name()));
    use GenerationCause as Cause;
    for cause in [
        Cause::Start,
        Cause::CounterBackwards,
        Cause::Contradiction,
        Cause::SystemStep,
        Cause::HardwareStep,
        Cause::FrequencyChange,
        Cause::Gap,
        Cause::Notification,
    ] {
        named(&cause, cause.name());
    }
    use ConversionError as Why;
    for why in [
        Why::NotReady,
        Why::OtherClock,
        Why::UnknownDevice,
        Why::OutsideGenerations,
        Why::Ambiguous,
        Why::Stale,
        Why::UtcUnknown,
        Why::NoTimestamp,
    ] {
        named(&why, why.name());
    }
    for method in [
        CrossMethod::Precise,
        CrossMethod::Extended,
        CrossMethod::Basic,
        CrossMethod::Driver,
    ] {
        named(&method, method.name());
    }
    for kind in [
        ErrorKind::NotPermitted,
        ErrorKind::NotSupported,
        ErrorKind::NoSuchDevice,
        ErrorKind::Busy,
        ErrorKind::InvalidInput,
        ErrorKind::Unreachable,
        ErrorKind::Closed,
        ErrorKind::Io,
    ] {
        named(&kind, kind.name());
    }
    for verdict in [PtpVerdict::None, PtpVerdict::Software, PtpVerdict::Hardware] {
        named(&verdict, verdict.name());
    }
    for source in [TimestampSource::Software, TimestampSource::Hardware] {
        named(&source, source.name());
    }
    for state in [
        InterfaceState::Up,
        InterfaceState::NoCarrier,
        InterfaceState::Down,
    ] {
        named(&state, state.name());
    }
    for kind in [
        ChangeKind::Added,
        ChangeKind::Removed,
        ChangeKind::Link,
        ChangeKind::HardwareClock,
        ChangeKind::Configuration,
        ChangeKind::Unspecified,
    ] {
        named(&kind, kind.name());
        let interface = interface(4);
        let change = Change { interface, kind };
        both_ways(&change, json!({"interface": 4, "kind": kind.name()}));
    }
    both_ways(&Direction::Transmit, json!("transmit"));
    both_ways(&AddressFamily::Ipv4, json!("ipv4"));
    both_ways(
        &Source::HardwareElseSoftware,
        json!("hardware_else_software"),
    );
}
