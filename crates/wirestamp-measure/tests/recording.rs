//! A recording of a simulated NIC's clock in virtual time: what it takes, in which order, and how it ends.

use std::time::Duration;
use wirestamp::events::{BATCH_GAP, CONFIRMING_BATCHES};
use wirestamp::sim::NicName;
use wirestamp::{
    CorrelatorOptions, ErrorKind, HardwareTicks, MonotonicTime, Simulation, Span, UtcTime,
};
use wirestamp_measure::{
    Datagrams, Engine, FinalTime, Kind, Known, Measurements, Place, Readings, Recorded, Recording,
    Sample, Sink, Subject,
};

const SECOND: Span = Span::from_seconds(1);
const PERIOD: Duration = Duration::from_millis(100);
const MS: Duration = Duration::from_millis(1);

/// What a command takes.
#[derive(Debug, Clone, PartialEq)]
enum Part {
    Notified,
    /// How many readings, and whether another clock was before.
    Batch(usize, bool),
    Timestamp,
    Failed(ErrorKind),
}

#[derive(Default)]
struct Taken {
    parts: Vec<Part>,
    /// The clock at each reading and timestamp, in their order.
    ticks: Vec<u64>,
    /// When each batch began and ended.
    batches: Vec<(MonotonicTime, MonotonicTime)>,
    times: Vec<FinalTime>,
    known: Vec<Known>,
}

impl Taken {
    fn count(&self, wanted: impl Fn(&Part) -> bool) -> usize {
        self.parts.iter().filter(|part| wanted(part)).count()
    }

    fn batches(&self) -> usize {
        self.count(|part| matches!(part, Part::Batch(..)))
    }

    fn timestamps(&self) -> usize {
        self.count(|part| *part == Part::Timestamp)
    }
}

impl Sink for Taken {
    fn sample(&mut self, _: &Sample<'_>) {}

    fn estimate(&mut self, clock: &str, known: &Known) {
        assert_eq!(clock, "sim0");
        self.known.push(*known);
    }

    fn recorded(&mut self, subject: Subject<'_>, recorded: &Recorded<'_>) {
        assert_eq!((subject.kind, subject.name), (Kind::Clock, "sim0"));
        self.parts.push(match recorded {
            Recorded::Notified => Part::Notified,
            Recorded::Batch(batch) => {
                let readings = batch.readings;
                let ticks = readings.iter().map(|reading| reading.hardware().raw());
                self.ticks.extend(ticks);
                let ends = readings.first().zip(readings.last());
                let ends = ends.map(|(a, z)| (a.monotonic_before(), z.monotonic_after()));
                self.batches.extend(ends);
                Part::Batch(readings.len(), batch.is_another)
            }
            Recorded::Timestamp(timestamp) => {
                self.ticks.push(timestamp.ticks.raw());
                Part::Timestamp
            }
            Recorded::Failed(error) => Part::Failed(error.kind()),
            Recorded::Time(time) => return self.times.push(*time),
            _ => return,
        });
    }
}

/// Three readings each period, and so many timestamps a second.
fn recording(timestamps: u32, period: Duration) -> Recording {
    let mut recording = Recording::of("sim0");
    recording.schedule = CorrelatorOptions {
        period,
        burst: 0,
        readings_per_batch: 3,
        ..CorrelatorOptions::FIXED
    };
    let interval = Duration::from_secs(1).checked_div(timestamps);
    recording.datagrams = interval.map(Datagrams::each);
    recording
}

struct Host {
    simulation: Simulation,
    engine: Engine,
    taken: Taken,
}

impl Host {
    /// Three readings each 100 ms, and so many timestamps a second.
    fn new(preset: &str, timestamps: u32) -> Self {
        let simulation = Simulation::preset(preset, 1).expect("a preset");
        Self::beside(Measurements::default(), simulation, timestamps, PERIOD)
    }

    fn beside(
        others: Measurements,
        simulation: Simulation,
        timestamps: u32,
        period: Duration,
    ) -> Self {
        let recording = recording(timestamps, period);
        Self::of(others.recording(recording), simulation)
    }

    /// With the times, once they are final.
    fn timed(preset: &str, timestamps: u32) -> Self {
        let simulation = Simulation::preset(preset, 1).expect("a preset");
        let mut recording = recording(timestamps, PERIOD);
        recording.times = true;
        Self::of(Measurements::default().recording(recording), simulation)
    }

    fn of(asked: Measurements, simulation: Simulation) -> Self {
        let engine = Engine::new(asked, Place::Simulation(simulation.clone()));
        Self {
            simulation,
            engine: engine.expect("it starts"),
            taken: Taken::default(),
        }
    }

    fn run(&mut self, time: Span) {
        let until = self.engine.now() + time;
        let run = self.engine.run_until(until, &mut self.taken);
        run.expect("it runs");
    }

    /// Ends it; what it took after that.
    fn finish(&mut self) -> Vec<Part> {
        let before = self.taken.parts.len();
        self.engine.finish();
        let begun = self.engine.now();
        while !self.engine.is_over() {
            assert!(self.engine.now() - begun < SECOND, "it ends");
            let next = self.engine.serve(&self.engine.moment(), &mut self.taken);
            self.engine.wait(next).expect("it waits");
        }
        self.taken.parts.split_off(before)
    }
}

#[test]
fn timestamps_are_confirmed_by_the_batches_that_end_it() {
    let mut host = Host::new("igb", 20);
    host.run(SECOND);
    let counts = (host.taken.batches(), host.taken.timestamps());
    assert_eq!(counts, (10, 20));
    assert_eq!(
        host.taken.parts[0],
        Part::Batch(3, false),
        "the clock is first"
    );
    assert!(!host.engine.is_over());
    let last = host.finish();
    let confirming = vec![Part::Batch(3, false); CONFIRMING_BATCHES as usize];
    assert_eq!(last, confirming);
}

/// That is not counted as a failure, and datagrams wait for the first batch.
#[test]
fn a_clock_that_is_busy_at_the_start_is_read_again() {
    let busy = "preset = \"ideal\"\n[nic.cross]\ninterval = \"45ms\"\n";
    let simulation = Simulation::from_toml(busy, 1).expect("a scenario");
    let mut other = Readings::of("sim0");
    other.count = Some(1);
    let others = Measurements::default().readings(other);
    let mut host = Host::beside(others, simulation, 1_000, PERIOD);
    let (begun, mut turns) = (host.engine.now(), 0);
    while host.taken.parts.is_empty() {
        let next = host.engine.serve(&host.engine.moment(), &mut host.taken);
        host.engine.wait(next).expect("it waits");
        turns += 1;
    }
    assert!(host.engine.now() - begun > Span::from_milliseconds(45));
    assert!(turns < 20, "{turns} turns");
    host.run(SECOND);
    assert_eq!(host.taken.parts[0], Part::Batch(3, false));
    let failed = host.taken.count(|part| matches!(part, Part::Failed(_)));
    assert_eq!(failed, 0, "{:?}", host.taken.parts);
    assert!((10..=11).contains(&host.taken.batches()));
    assert!(host.taken.timestamps() > 500, "{}", host.taken.timestamps());
}

/// The format takes a timestamp to be made just before its line: nothing is read while one is under way, however long it takes, and batches are
/// not put off for ever.
#[test]
fn a_timestamp_that_is_slow_stands_where_it_was_made() {
    let slow = "preset = \"ideal\"\n[nic.transmit]\ncollection = \"30ms\"\n";
    let simulation = Simulation::from_toml(slow, 1).expect("a scenario");
    let mut host = Host::beside(Measurements::default(), simulation, 50, PERIOD);
    host.run(SECOND + SECOND);
    host.finish();
    let counts = (host.taken.batches(), host.taken.timestamps());
    assert!(counts.0 >= 18 && counts.1 >= 30, "{counts:?}");
    assert!(host.taken.ticks.is_sorted(), "{:?}", host.taken.ticks);
}

/// Readings closer together than a millisecond are one batch to who reads them.
#[test]
fn batches_that_end_it_are_batches_of_their_own_however_long_one_takes() {
    let long = "preset = \"ideal\"\n[nic.cross]\nmethod = \"extended\"\nback = \"1ms\"\n";
    let simulation = Simulation::from_toml(long, 1).expect("a scenario");
    let mut host = Host::beside(Measurements::default(), simulation, 50, 4 * MS);
    host.run(SECOND);
    let before = host.taken.batches.len();
    host.finish();
    let last = &host.taken.batches[before - 1..];
    assert_eq!(last.len(), 1 + CONFIRMING_BATCHES as usize);
    for pair in last.windows(2) {
        let ((begun, ended), (next, _)) = (pair[0], pair[1]);
        assert!(ended - begun > BATCH_GAP + BATCH_GAP, "a long one");
        assert!(next - ended > BATCH_GAP, "{}", next - ended);
    }
}

/// As some NICs can.
#[test]
fn one_timestamp_at_a_time_is_under_way() {
    let mut host = Host::new("igb", 1_000);
    host.run(SECOND);
    let failed = host.taken.count(|part| matches!(part, Part::Failed(_)));
    assert!(host.taken.timestamps() > 100, "{}", host.taken.timestamps());
    assert_eq!(failed, 0);
}

#[test]
fn one_without_timestamps_ends_at_once() {
    let mut host = Host::new("igb", 0);
    host.run(SECOND);
    assert_eq!((host.taken.batches(), host.taken.parts.len()), (10, 10));
    assert_eq!(host.finish(), []);
}

#[test]
fn what_is_under_way_when_it_ends_is_waited_for() {
    let mut host = Host::new("igb", 20);
    host.run(Span::from_milliseconds(960));
    assert_eq!(host.taken.timestamps(), 19);
    let next = host.engine.serve(&host.engine.moment(), &mut host.taken);
    host.engine.wait(next).expect("it waits");
    // the last one leaves
    host.engine.serve(&host.engine.moment(), &mut host.taken);
    assert_eq!(host.taken.timestamps(), 19);
    let last = host.finish();
    let confirming = CONFIRMING_BATCHES as usize;
    assert_eq!(last.len(), 1 + confirming, "{last:?}");
    assert_eq!(last[0], Part::Timestamp);
}

#[test]
fn another_clock_is_said_with_the_first_batch_of_it() {
    let mut host = Host::new("igb", 0);
    host.run(SECOND);
    let world = host.simulation.world().clone();
    world.change_clock(NicName::Sim0, 1, Span::from_seconds(30));
    host.run(SECOND);
    let other = Part::Batch(3, true);
    assert_eq!(
        host.taken.count(|part| *part == other),
        1,
        "{:?}",
        host.taken.parts
    );
    assert!((19..=21).contains(&host.taken.batches()));
}

/// A guest was paused: batches that would be seconds apart come soon, with a budget and without.
#[test]
fn after_readings_that_contradict_each_other_batches_come_soon() {
    for schedule in [CorrelatorOptions::default(), CorrelatorOptions::FIXED] {
        let simulation = Simulation::preset("slow-cross", 1).expect("a preset");
        let mut recording = Recording::of("sim0");
        recording.schedule = schedule;
        let mut host = Host::of(Measurements::default().recording(recording), simulation);
        let minute = Span::from_seconds(60);
        host.run(minute + minute);
        let quiet = host.taken.batches();
        let clock = host.simulation.world().clock_device(NicName::Sim0);
        clock.step(Span::from_milliseconds(200)).expect("taken");
        // up to 5 s until a batch shows it, then some seconds of doubling intervals
        host.run(Span::from_seconds(10));
        let batches = host.taken.batches() - quiet;
        assert!((8..16).contains(&batches), "{schedule:?}: {batches}");
    }
}

/// Every fourth batch fails; the sixteen of the burst are taken in its time and a little more.
#[test]
fn a_batch_that_fails_does_not_interrupt_a_burst() {
    let world = "preset = \"i225\"\n[nic.cross]\nbusy = 0.25";
    let simulation = Simulation::from_toml(world, 1).expect("a scenario");
    let asked = Measurements::default().recording(Recording::of("sim0"));
    let mut host = Host::of(asked, simulation);
    host.run(Span::from_milliseconds(500));
    assert!(host.taken.count(|part| matches!(part, Part::Failed(_))) > 1);
    assert!(host.taken.batches() >= 16, "{}", host.taken.batches());
}

#[test]
fn a_nic_that_is_back_is_read_and_timestamps_again() {
    let mut host = Host::new("igb", 20);
    host.run(SECOND);
    host.simulation.world().remove_nic(NicName::Sim0);
    host.run(SECOND + SECOND);
    let gone = Part::Failed(ErrorKind::NoSuchDevice);
    assert!(
        host.taken.count(|part| *part == gone) > 2,
        "{:?}",
        host.taken.parts
    );
    let before = (host.taken.batches(), host.taken.timestamps());
    host.simulation.world().add_nic(NicName::Sim0);
    host.run(SECOND + SECOND);
    let more = (
        host.taken.batches() - before.0,
        host.taken.timestamps() - before.1,
    );
    assert!(
        more.0 >= 9 && more.1 >= 15,
        "{more:?}, {:?}",
        host.taken.parts
    );
    assert!(host.taken.count(|part| *part == Part::Notified) >= 2);
    let other = Part::Batch(3, true);
    assert_eq!(host.taken.count(|part| *part == other), 1);
}

#[test]
fn one_that_is_ended_before_it_begins_ends() {
    let mut host = Host::new("igb", 20);
    assert_eq!(host.finish(), []);
}

#[test]
fn an_interface_without_a_clock_is_not_tried_again() {
    let mut host = Host::new("software-only", 0);
    host.run(SECOND);
    assert!(host.engine.is_over() && host.taken.parts.is_empty());
    let outcomes = host.engine.outcomes();
    let error = outcomes[0].error.expect("it failed");
    assert_eq!(error.kind(), ErrorKind::NotSupported);
}

#[test]
fn a_schedule_that_never_waits_is_refused() {
    let simulation = Simulation::preset("igb", 1).expect("a preset");
    let mut recording = Recording::of("sim0");
    recording.schedule.budget = Some(Duration::ZERO);
    let asked = Measurements::default().recording(recording);
    let mut engine = Engine::new(asked, Place::Simulation(simulation)).expect("it starts");
    engine.serve(&engine.moment(), &mut Taken::default());
    let outcomes = engine.outcomes();
    let error = outcomes[0].error.expect("it failed");
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
}

/// Somebody steps the NIC's clock meanwhile: no time before or after that is wrong.
#[test]
fn times_that_are_final_contain_the_truth() {
    let mut host = Host::timed("igb", 20);
    host.run(Span::from_seconds(8));
    assert!(!host.taken.times.is_empty(), "they come as they go");
    let world = host.simulation.world().clone();
    world.step_hardware_clock(NicName::Sim0, 1_000_000);
    host.run(Span::from_seconds(8));
    let last = host.finish();

    let interface = host.simulation.interface("sim0").expect("a NIC").index();
    let truth = world.truth();
    let ahead = truth.utc().nanoseconds() - truth.now().nanoseconds();
    let utc_of = |ticks| {
        let at = truth
            .monotonic_time_of(interface, ticks)
            .expect("it was shown");
        UtcTime::from_nanoseconds(at.nanoseconds() + ahead)
    };
    let taken = &host.taken;
    let numbers: Vec<u64> = taken.times.iter().map(|time| time.number).collect();
    assert_eq!(numbers, (0..taken.timestamps() as u64).collect::<Vec<_>>());
    let mut right = 0;
    for time in &taken.times {
        let Ok(utc) = time.utc else { continue };
        let is = utc_of(time.timestamp.ticks);
        assert!((utc.value - is).abs() <= utc.bound, "{time:?} is {is}");
        right += 1;
    }
    assert!(right > taken.times.len() * 9 / 10, "{:?}", taken.times);
    let batches = taken.batches() + last.len();
    assert_eq!(taken.known.len(), batches, "one for each batch");
    let mut known = 0;
    for (one, offset) in taken
        .known
        .iter()
        .filter_map(|one| Some((one, one.offset.ok()?)))
    {
        let shown = one.from + offset.value;
        let is = utc_of(HardwareTicks::new(shown.nanoseconds().cast_unsigned()));
        assert!((one.from - is).abs() <= offset.bound, "{one:?}: {is}");
        known += 1;
    }
    assert!(known > batches * 9 / 10, "{:?}", taken.known);
}
