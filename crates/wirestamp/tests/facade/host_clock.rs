//! Conversion of timestamps to the host's clocks: provisional until the NIC's clock was read again,
//! then final or an error.

use crate::pair::{bound, pass, simulation};
use std::sync::Arc;
use std::time::Duration;
use wirestamp::correlator::ClockGeneration;
use wirestamp::sim::NicName;
use wirestamp::timestamp::SoftwareTimestamp;
use wirestamp::{
    Bounded, ConversionError, CorrelatorOptions, ErrorKind, HardwareTimestamp, HostClock, HostTime,
    Interface, MonotonicTime, Simulation, Span, TimestampPolicy, TimestampSource, Timestamps,
    UdpSocket, UtcTime,
};

struct Bench {
    simulation: Simulation,
    interface: Interface,
    socket: UdpSocket,
    clock: HostClock,
}

impl Bench {
    fn new() -> Self {
        let simulation = simulation("i225");
        let interface = simulation.interface("sim0").expect("a NIC");
        let options = CorrelatorOptions {
            period: Duration::from_millis(200),
            ..CorrelatorOptions::FIXED
        };
        let correlator = interface.correlator(options).expect("it has a clock");
        pass(simulation.world(), Duration::from_secs(2));
        Self {
            socket: bound(&interface),
            clock: HostClock::hardware(Arc::new(correlator)),
            simulation,
            interface,
        }
    }

    /// A timestamp that is made and read now, on both clocks.
    fn timestamps(&self) -> (Timestamps, MonotonicTime) {
        let truth = self.simulation.world().truth();
        let at = truth.now();
        let ticks = truth.hardware_ticks_at(self.interface.index(), at);
        let hardware = HardwareTimestamp {
            ticks: ticks.expect("it has a clock"),
            interface: Some(self.interface.index()),
            read_at: at,
        };
        let bound = Span::from_nanoseconds(1);
        let software = SoftwareTimestamp::new(Bounded::new(at + Span::from_microseconds(1), bound))
            .with_utc(UtcTime::from_nanoseconds(77));
        let both = Timestamps::new(Some(software), Some(hardware));
        (both, at)
    }

    fn step_nic(&self, by: i64) {
        self.simulation
            .world()
            .step_hardware_clock(NicName::Sim0, by);
    }

    fn place(&self, timestamps: &Timestamps) -> Result<HostTime, ConversionError> {
        self.clock.place(timestamps, TimestampPolicy::OnlyHardware)
    }
}

#[test]
fn a_time_is_provisional_until_the_clock_was_read_after_it() {
    let bench = Bench::new();
    pass(bench.simulation.world(), Duration::from_millis(50));
    let (timestamps, truth) = bench.timestamps();
    let first = bench.place(&timestamps).expect("placed");
    assert!(!first.is_final && !bench.clock.is_confirmed(&timestamps));
    assert_eq!(first.source, TimestampSource::Hardware);
    pass(bench.simulation.world(), Duration::from_millis(210));
    assert!(!bench.clock.is_confirmed(&timestamps), "one reading");
    pass(bench.simulation.world(), Duration::from_millis(420));
    assert!(bench.clock.is_confirmed(&timestamps));
    let later = bench.place(&timestamps).expect("placed");
    assert!(later.is_final);
    assert_eq!(later.monotonic.generation, ClockGeneration(0));
    assert!(later.monotonic.at.contains(truth));
}

#[test]
fn reading_the_clock_makes_a_time_final_soon_and_costs_three_batches() {
    let bench = Bench::new();
    let (timestamps, _) = bench.timestamps();
    let taken = || bench.clock.correlator().expect("one").status().taken;
    let before = taken();
    bench
        .clock
        .confirm(&timestamps)
        .expect("the clock is there");
    assert!(bench.place(&timestamps).expect("placed").is_final);
    let after = taken();
    assert_eq!(after - before, 15);
    bench
        .clock
        .confirm(&timestamps)
        .expect("the clock is there");
    assert_eq!(taken(), after, "it was read since");
}

/// The NIC's clock is stepped between the last cross timestamp and the timestamp.
#[test]
fn a_step_before_the_timestamp_is_seen_and_the_time_withdrawn() {
    for by in [-10_000_000_i64, 10_000_000, -5_000_000_000, 3_000] {
        let bench = Bench::new();
        let (before, truth) = bench.timestamps();
        bench.step_nic(by);
        let (after, _) = bench.timestamps();
        bench.clock.confirm(&after).expect("the clock is there");
        let withdrawn = bench
            .place(&after)
            .expect_err("nobody knows when the step was");
        assert!(
            matches!(
                withdrawn,
                ConversionError::OutsideGenerations | ConversionError::Ambiguous
            ),
            "{by}: {withdrawn}"
        );
        // a timestamp from before the step converts correctly or fails
        if let Ok(time) = bench.place(&before) {
            assert!(time.monotonic.at.contains(truth), "{by}");
        }
        // until then, a clock that was set back repeats values
        pass(
            bench.simulation.world(),
            Duration::from_nanos(by.unsigned_abs()) + Duration::from_millis(20),
        );
        let (later, truth) = bench.timestamps();
        bench.clock.confirm(&later).expect("the clock is there");
        let time = bench.place(&later).expect("the new generation converts");
        assert!(time.is_final && time.monotonic.generation > ClockGeneration(0));
        assert!(time.monotonic.at.contains(truth), "{by}");
    }
}

#[test]
fn the_policy_chooses_the_timestamp() {
    use TimestampPolicy::{HardwareElseSoftware, OnlyHardware, OnlySoftware};
    let bench = Bench::new();
    let (both, _) = bench.timestamps();
    let (hardware, software) = (
        Timestamps::new(None, both.hardware),
        Timestamps::new(both.software, None),
    );
    let mut foreign = both;
    foreign.hardware = both.hardware.map(|timestamp| HardwareTimestamp {
        interface: None,
        ..timestamp
    });
    let source = |timestamps, policy| {
        let placed = bench.clock.place(timestamps, policy);
        placed.map(|time| time.source)
    };
    let (nic, kernel) = (Ok(TimestampSource::Hardware), Ok(TimestampSource::Software));
    let none = Err(ConversionError::NoTimestamp);
    for (timestamps, only_hardware, either, only_software) in [
        (&both, nic, nic, kernel),
        (&hardware, nic, nic, none),
        (&software, none, kernel, kernel),
        (
            &foreign,
            Err(ConversionError::UnknownDevice),
            kernel,
            kernel,
        ),
        (&Timestamps::NONE, none, none, none),
    ] {
        assert_eq!(source(timestamps, OnlyHardware), only_hardware);
        assert_eq!(source(timestamps, HardwareElseSoftware), either);
        assert_eq!(source(timestamps, OnlySoftware), only_software);
    }
    let without = HostClock::software();
    assert_eq!(
        without.place(&hardware, OnlyHardware),
        Err(ConversionError::NotReady)
    );
    let time = without.place(&both, OnlySoftware).expect("placed");
    assert!(time.is_final && without.is_confirmed(&software));
}

#[test]
fn utc_is_the_kernels_or_converted_with_a_reading_of_both_clocks() {
    let bench = Bench::new();
    let both = || bench.socket.utc_cross_timestamp();
    let (mut timestamps, truth) = bench.timestamps();
    let utc_truth = bench.simulation.world().truth().utc();
    let utc = |timestamps: &Timestamps, policy| {
        let time = bench.clock.place(timestamps, policy).expect("placed");
        bench.clock.utc(&time, both).expect("known")
    };
    let kernels = utc(&timestamps, TimestampPolicy::OnlySoftware);
    assert_eq!(
        (kernels.at.value, kernels.at.bound),
        (UtcTime::from_nanoseconds(77), Span::ZERO)
    );
    let nics = utc(&timestamps, TimestampPolicy::OnlyHardware);
    assert!(nics.at.contains(utc_truth));
    assert!(nics.at.bound < Span::from_microseconds(5));
    // as on Windows
    if let Some(software) = &mut timestamps.software {
        (software.at.value, software.utc) = (truth, None);
    }
    let placed = utc(&timestamps, TimestampPolicy::OnlySoftware);
    assert!(placed.at.contains(utc_truth));
}

/// Windows' timestamps carry no UTC, and a program may read them late.
#[test]
fn utc_of_a_timestamp_that_is_read_late_contains_what_was_slewed_meanwhile() {
    let simulation = simulation("windows-modern");
    let interface = simulation.interface("sim0").expect("a NIC");
    let (world, socket, clock) = (simulation.world(), bound(&interface), HostClock::software());
    let tick = Span::from_nanoseconds(100);
    for slew in [1_000_000, -1_000_000, 400_000, 0] {
        world.slew_real_time_clock(slew);
        for late in [0, 3, 300, 3_000].map(Duration::from_millis) {
            let (at, utc) = (world.truth().now(), world.truth().utc());
            let timestamp = SoftwareTimestamp::new(Bounded::new(at, tick));
            let timestamps = Timestamps::new(Some(timestamp), None);
            let time = clock.place(&timestamps, TimestampPolicy::OnlySoftware);
            pass(world, late);
            let both = || socket.utc_cross_timestamp();
            let shown = clock.utc(&time.expect("placed"), both).expect("known").at;
            assert!(shown.contains(utc), "{slew} ppb, {late:?}: {shown:?}");
            let most = Span::from(late / 1_000) + Span::from_microseconds(1);
            assert!(shown.bound < most, "{late:?}: {shown:?}");
        }
    }
}

/// It is of another host, or from before a restart: later cross timestamps cannot confirm it.
#[test]
fn a_timestamp_that_is_read_later_than_now_is_refused_at_once() {
    let bench = Bench::new();
    let (mut timestamps, now) = bench.timestamps();
    let hardware = timestamps.hardware.as_mut().expect("it has one");
    hardware.read_at = now + Span::from_seconds(10);
    let error = bench.clock.confirm(&timestamps).expect_err("not yet");
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    let after = bench.simulation.world().truth().now();
    assert!(
        after - now < Span::from_milliseconds(1),
        "it waits for nothing"
    );
}

/// The NIC is gone: no time can be confirmed any more.
#[test]
fn a_clock_that_is_gone_confirms_nothing() {
    let bench = Bench::new();
    let (timestamps, _) = bench.timestamps();
    bench.simulation.world().remove_nic(NicName::Sim0);
    assert!(bench.clock.confirm(&timestamps).is_err());
    assert!(!bench.clock.is_confirmed(&timestamps));
    assert!(!bench.place(&timestamps).is_ok_and(|time| time.is_final));
}

/// A socket on a bridge has timestamps of both NICs.
#[test]
fn of_several_nics_each_timestamp_is_placed_by_the_clock_that_made_it() {
    let simulation = simulation("i225");
    let world = simulation.world();
    world.step_hardware_clock(NicName::Sim1, -30_000_000);
    let nics = ["sim0", "sim1"].map(|name| simulation.interface(name).expect("a NIC"));
    let correlators = [0, 1].map(|place: usize| {
        let correlator = nics[place].correlator(CorrelatorOptions::default());
        Arc::new(correlator.expect("it has a clock"))
    });
    pass(world, Duration::from_secs(2));
    let both = HostClock::hardware_of(correlators.clone());
    let first = HostClock::hardware_of(correlators.into_iter().take(1));
    let truth = world.truth();
    let at = truth.now();
    let made = |interface| {
        let hardware = HardwareTimestamp {
            ticks: truth
                .hardware_ticks_at(interface, at)
                .expect("it has a clock"),
            interface: Some(interface),
            read_at: at,
        };
        Timestamps::new(None, Some(hardware))
    };
    let [one, other] = [0, 1].map(|place: usize| made(nics[place].index()));
    let place =
        |clock: &HostClock, timestamps| clock.place(timestamps, TimestampPolicy::OnlyHardware);
    assert_eq!(place(&first, &other), Err(ConversionError::OtherClock));
    for timestamps in [&one, &other] {
        let provisional = place(&both, timestamps).expect("of one of them");
        assert!(provisional.monotonic.at.contains(at));
        assert_eq!(both.bears_out(&provisional), None);
        both.confirm(timestamps).expect("both are there");
        assert!(both.is_confirmed(timestamps));
        assert_eq!(both.bears_out(&provisional), Some(true));
        let time = place(&both, timestamps).expect("of one of them");
        assert!(time.is_final && time.monotonic.at.contains(at));
        let utc = both.utc(&time, || unreachable!("the correlator knows it"));
        assert!(utc.is_ok_and(|utc| utc.at.bound < Span::from_microseconds(5)));
    }
    let mut unnamed = one;
    unnamed.hardware = one.hardware.map(|hardware| HardwareTimestamp {
        interface: None,
        ..hardware
    });
    assert_eq!(place(&both, &unnamed), Err(ConversionError::UnknownDevice));
    assert!(!HostClock::hardware_of([]).has_hardware());
}
