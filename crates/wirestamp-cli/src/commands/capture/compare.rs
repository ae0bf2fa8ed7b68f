//! `capture compare`: what happened to packets between two captures.

use super::input::{is_standard, open};
use super::{Times, Unused, coarse, mirrored, nanoseconds, order_and_steps, share};
use crate::arguments;
use crate::commands::limits::{self, Judged};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::quantity::{rounded_up, shown};
use crate::output::{Output, Page, Report, Rows, grouped, plural};
#[cfg(all(test, feature = "schema"))]
use crate::schema::Document;
use serde::Serialize;
use std::path::Path;
use std::time::Duration;
use wirestamp::ethernet::MacAddress;
use wirestamp::{Error, ErrorKind};
use wirestamp_capture::compare::{self, FlowReport, Options, RunDelay, Way};
use wirestamp_capture::frames::Frames;
use wirestamp_capture::packet::Flow;

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Compared {
    /// Capture A.
    a: OneSide,
    /// Capture B.
    b: OneSide,
    /// The largest offset between the clocks (--clock-bound); part of each error bound.
    clock_bound_ns: Option<u64>,
    /// Packets given up because too many waited for their like.
    given_up: u64,
    /// The flows, the one with most packets first.
    flows: Vec<OneFlow>,
    /// Limits of the command line (--max-loss, --max-p99).
    limits: Vec<Judged>,
    #[serde(skip)]
    shown: usize,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct OneSide {
    /// Name of the file.
    file: String,
    /// Packets in the file.
    packets: u64,
    /// Packets that the capture itself dropped; null: the file does not say.
    dropped: Option<u64>,
    /// Whether the file ends within a packet.
    truncated: bool,
    /// Packets that could not be used, by reason.
    unusable: Unused,
    /// Packets that the file has again from another interface or direction; each counts once.
    copies: u64,
    /// Packets that the file has again within 10 ms, with the same IPv4 identification: a mirror port seems to have sent them twice.
    mirrored: u64,
    #[serde(skip)]
    is_once: bool,
    #[serde(skip)]
    during_ns: Option<(i64, i64)>,
    /// Unit of the file's times: 1 is nanoseconds or finer. Delays are known no better than the coarser unit of both files.
    unit_ns: u64,
    /// Packets that stand behind a later one; they were put in order.
    out_of_order: u64,
    /// Steps of the real-time clock that the file reports.
    clock_steps: u64,
    /// Packets of tunnels that the other file has not: others may be in them.
    tunnel_packets: u64,
}

/// A number for each capture.
#[derive(Clone, Copy, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Both {
    /// Of capture A.
    a: u64,
    /// Of capture B.
    b: u64,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct OneFlow {
    /// The flow, as it is called at A; null: frames without IP, or all flows beyond the first 1,024.
    flow: Option<FlowName>,
    /// Frames without IP from one station to another; null: IP.
    frames: Option<FramesName>,
    /// Which way it went.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["a_to_b", "b_to_a"])))]
    direction: &'static str,
    /// Packets at A.
    in_a: u64,
    /// Packets at B.
    in_b: u64,
    /// Packets found in both.
    matched: u64,
    /// Matched packets that look like others on the way, so that it is unknown which one is which: they
    /// have no delay.
    ambiguous: u64,
    /// Matched packets that have no time in one of the captures: they have no delay.
    without_time: u64,
    /// Matched packets that may have been under way while a real-time clock was stepped that made both
    /// times, and those of further pairs of runs than there are histograms for: they have no delay.
    across_step: u64,
    /// TCP segments whose bytes the other capture has in segments that are cut otherwise (GRO, LRO, TSO): they arrived,
    /// and have no delay.
    resegmented: Both,
    /// Packets that the other capture may have: it has packets that cannot be compared or UDP datagrams that GSO cut or
    /// GRO joined, they have no time themselves, they may be copies, too many waited, or a clock was stepped.
    undecided: Both,
    /// Packets sent and not seen to arrive.
    lost: u64,
    /// Packets that arrived again.
    duplicated: u64,
    /// Packets that arrived after one that was sent later (RFC 4737).
    reordered: u64,
    /// Packets that arrived and were not seen to be sent.
    extra: u64,
    /// Packets of times in which only one capture was made; counted nowhere else.
    outside: u64,
    /// How long packets took, of the runs of both clocks that have most of them; null: none was found in both.
    delay: Option<Times>,
    /// How long packets took in each pair of runs of the clocks: a step of either one moves the delays after it by an unknown
    /// amount.
    delays: Vec<OneDelay>,
    /// Of A and of B.
    #[serde(skip)]
    longest_segment: [u32; 2],
    #[serde(skip)]
    never_lost: bool,
}

/// How long packets took between two steps of the clocks.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct OneDelay {
    /// How often the real-time clock of each capture was stepped before these packets.
    steps: Both,
    /// How long packets took.
    delay: Times,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct FlowName {
    /// IP protocol number: 6 is TCP, 17 is UDP.
    protocol: u8,
    /// Address that the packets come from.
    source: String,
    /// Port that the packets come from; 0: none.
    source_port: u16,
    /// Address that the packets go to.
    destination: String,
    /// Port that the packets go to; 0: none.
    destination_port: u16,
    #[serde(skip)]
    text: String,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct FramesName {
    /// EtherType: 35063 is PTP; 0: LLC.
    ether_type: u16,
    /// MAC address that the frames come from.
    source: String,
    /// MAC address that the frames go to.
    destination: String,
    #[serde(skip)]
    text: String,
}

#[cfg(all(test, feature = "schema"))]
pub(super) fn schema() -> Document {
    Document::of::<Compared>(
        "capture-compare",
        "Output of `wirestamp capture compare A B --json`",
    )
    .row::<OneFlow>()
}

pub(super) fn run(
    arguments: &arguments::CaptureCompare,
    output: &mut Output,
) -> Result<Exit, Failure> {
    if is_standard(&arguments.a) && is_standard(&arguments.b) {
        let cause = "standard input can't be both captures";
        let error = Error::new(ErrorKind::InvalidInput, "compare captures", "-", cause);
        return Err(error
            .with_remedy("name a file or a FIFO for one of them")
            .into());
    }
    let (mut a, mut b) = (open(&arguments.a)?, open(&arguments.b)?);
    let mut options = Options::default();
    options.nat = arguments.nat;
    options.vlan = arguments.vlan;
    options.mirrored_once = arguments.copies;
    options.window_ns = nanoseconds(arguments.window);
    options.most_waiting = arguments.max_waiting as usize;
    let whole = |bound: Duration| nanoseconds(bound).unsigned_abs();
    options.clock_bound_ns = arguments.clock_bound.map(whole);
    let found = compare::compare(&mut a, &mut b, options)?;
    let side = |path: &Path, place: usize| OneSide {
        file: path.display().to_string(),
        packets: found.files[place].packets,
        dropped: found.files[place].dropped,
        truncated: found.files[place].truncated,
        unusable: found.files[place].unusable.into(),
        copies: found.files[place].copies,
        mirrored: found.files[place].mirrored,
        is_once: arguments.copies,
        during_ns: found.files[place].during_ns,
        unit_ns: found.files[place].unit_ns,
        out_of_order: found.files[place].out_of_order,
        clock_steps: found.files[place].clock_steps,
        tunnel_packets: found.files[place].tunnel_packets,
    };
    let flows: Vec<_> = found.flows.iter().map(OneFlow::from).collect();
    let [unit_a, unit_b] = found.files.map(|file| file.unit_ns);
    let unit_ns = unit_a.max(unit_b);
    let report = Compared {
        a: side(&arguments.a, 0),
        b: side(&arguments.b, 1),
        clock_bound_ns: options.clock_bound_ns,
        given_up: found.given_up,
        limits: judge(&flows, arguments, unit_ns),
        flows,
        shown: arguments.flows,
    };
    output.report(&report)?;
    if output.has_rows() {
        limits::exceeded(&report.limits).try_for_each(|said| output.warn(&said))?;
    }
    Ok(limits::exit(&report.limits, false))
}

/// Judges all flows together by their losses, and the slowest by its delay. Nobody knows whether undecided packets arrived, so that
/// they keep no limit; those that are never lost neither keep nor exceed one.
fn judge(flows: &[OneFlow], arguments: &arguments::CaptureCompare, unit_ns: u64) -> Vec<Judged> {
    let sent = |flow: &OneFlow| match flow.direction {
        "a_to_b" => (flow.lost + flow.undecided.a, flow.in_a),
        _ => (flow.lost + flow.undecided.b, flow.in_b),
    };
    let sum = |(lost, all): (u64, u64), (more, packets)| (lost + more, all + packets);
    let may_be_lost = flows.iter().filter(|flow| !flow.never_lost);
    let counts = may_be_lost.map(sent).fold((0, 0), sum);
    let loss = |most| limits::judge_loss("lost_or_undecided_percent", most, counts);
    let slowest = flows
        .iter()
        .flat_map(|flow| flow.delays.iter().map(|one| one.delay.p99_ns))
        .max();
    let p99 = |most| limits::judge_one("delay_ns.p99", most, slowest).with_unit(unit_ns);
    let all = [arguments.max_p99.map(p99), arguments.max_loss.map(loss)];
    all.into_iter().flatten().collect()
}

impl From<&FlowReport> for OneFlow {
    fn from(report: &FlowReport) -> Self {
        Self {
            flow: report.flow.map(FlowName::from),
            frames: report.frames.map(FramesName::from),
            direction: match report.way {
                Way::AToB => "a_to_b",
                Way::BToA => "b_to_a",
            },
            in_a: report.in_a,
            in_b: report.in_b,
            matched: report.matched,
            ambiguous: report.ambiguous,
            without_time: report.without_time,
            across_step: report.across_step,
            resegmented: report.resegmented.into(),
            undecided: report.undecided.into(),
            lost: report.lost,
            duplicated: report.duplicated,
            reordered: report.reordered,
            extra: report.extra,
            outside: report.outside,
            delay: report.delay.map(Times::from),
            delays: report.delays.iter().map(OneDelay::from).collect(),
            longest_segment: report.longest_segment,
            never_lost: report.never_lost,
        }
    }
}

impl From<&RunDelay> for OneDelay {
    fn from(report: &RunDelay) -> Self {
        Self {
            steps: report.steps.map(u64::from).into(),
            delay: report.delay.into(),
        }
    }
}

impl From<[u64; 2]> for Both {
    fn from([a, b]: [u64; 2]) -> Self {
        Self { a, b }
    }
}

impl Both {
    fn is_zero(self) -> bool {
        self.a == 0 && self.b == 0
    }

    /// `12 in A, 3 in B`.
    fn text(self) -> String {
        format!("{} in A, {} in B", grouped(self.a), grouped(self.b))
    }
}

impl From<Flow> for FlowName {
    fn from(flow: Flow) -> Self {
        Self {
            protocol: flow.protocol,
            source: flow.source.to_string(),
            source_port: flow.source_port,
            destination: flow.destination.to_string(),
            destination_port: flow.destination_port,
            text: flow.to_string(),
        }
    }
}

impl From<Frames> for FramesName {
    fn from(frames: Frames) -> Self {
        let mac = |octets: [u8; 6]| MacAddress::from(octets).to_string();
        Self {
            ether_type: frames.ether_type,
            source: mac(frames.source),
            destination: mac(frames.destination),
            text: frames.to_string(),
        }
    }
}

impl Report for Compared {
    fn rows(&self, rows: &mut Rows) {
        self.flows.iter().for_each(|row| rows.row(row));
    }

    fn print(&self, page: &mut Page) {
        for (name, side) in [("A", &self.a), ("B", &self.b)] {
            let dropped = match side.dropped {
                Some(dropped) => format!("{} dropped by the capture", grouped(dropped)),
                None => "drops not reported".into(),
            };
            let cut = if side.truncated {
                ", ends within a packet"
            } else {
                ""
            };
            let packets = plural(side.packets, "packet");
            page.line(&format!("{name}: {}: {packets}, {dropped}{cut}", side.file));
        }
        let unit_ns = self.a.unit_ns.max(self.b.unit_ns);
        for flow in self.flows.iter().take(self.shown) {
            page.gap();
            flow.print(page, unit_ns);
        }
        page.gap();
        if self.flows.len() > self.shown {
            let more = plural((self.flows.len() - self.shown) as u64, "more flow");
            page.quiet(&format!("{more}: --flows, --json"));
        }
        match self.clock_bound_ns {
            Some(bound) => {
                let bound = rounded_up(i64::try_from(bound).unwrap_or(i64::MAX));
                page.quiet(&format!("error bounds include ±{bound} between the clocks"));
            }
            None => {
                page.quiet("delays hold as far as both clocks agree: say how far by --clock-bound");
            }
        }
        for (name, side) in [("A", &self.a), ("B", &self.b)] {
            let said = side.unusable.lines();
            let more = order_and_steps(side.copies, side.out_of_order, side.clock_steps);
            let tunnels = (side.tunnel_packets > 0).then(|| {
                let packets = plural(side.tunnel_packets, "packet");
                format!("{packets} of tunnels that the other file has not: others may be in them, and are undecided")
            });
            let twice = mirrored(side.mirrored, side.packets, side.is_once);
            for line in said.iter().chain(&more).chain(&twice).chain(&tunnels) {
                page.quiet(&format!("{name}: {line}"));
            }
        }
        if self.given_up > 0 {
            let packets = plural(self.given_up, "packet");
            page.quiet(&format!(
                "{packets}: given up, and undecided: see --max-waiting"
            ));
        }
        if let Some(line) = coarse(&[("A", self.a.unit_ns), ("B", self.b.unit_ns)]) {
            page.quiet(&line);
        }
        if let Some(line) = self.apart() {
            page.line(&line);
        }
        for line in self.offloads() {
            page.quiet(&line);
        }
        limits::print(&self.limits, page);
    }
}

impl Compared {
    /// Why no packet may have been found in both.
    fn apart(&self) -> Option<String> {
        const SECOND: u64 = 1_000_000_000;
        const TAI: u64 = 37 * SECOND;
        const QUARTER: u64 = 900 * SECOND;
        let is_found = |flow: &OneFlow| flow.matched > 0 || !flow.resegmented.is_zero();
        if self.flows.iter().any(is_found) {
            return None;
        }
        let ((a, a_last), (b, b_last)) = self.a.during_ns.zip(self.b.during_ns)?;
        let text = |time: u64| shown(i64::try_from(time).unwrap_or(i64::MAX));
        let begin = a.abs_diff(b);
        // time zones are quarters of an hour apart
        let to_zone = (begin % QUARTER).min(QUARTER - begin % QUARTER);
        let guess = if begin.abs_diff(TAI) < 3 * SECOND {
            "; 37 s is TAI minus UTC"
        } else if begin > QUARTER / 2 && to_zone < 10 * SECOND {
            "; is one in local time?"
        } else {
            ""
        };
        let (first, gap) = if a_last < b {
            ("A", a_last.abs_diff(b))
        } else if b_last < a {
            ("B", b_last.abs_diff(a))
        } else {
            let begin = text(begin);
            return Some(format!(
                "no packet was found in both: if the clocks are further apart than --window, state a longer one; the captures begin {begin} apart{guess}"
            ));
        };
        let gap = text(gap);
        Some(format!(
            "the captures do not overlap: {first} ends {gap} before the other begins{guess}"
        ))
    }

    /// Where segments were joined or not yet split, and how to have a delay of each packet.
    fn offloads(&self) -> Vec<String> {
        let mut longest = [0; 2];
        let mut is_origin = [false; 2];
        for flow in &self.flows {
            let origin = usize::from(flow.direction == "b_to_a");
            let larger = usize::from(flow.longest_segment[1] > flow.longest_segment[0]);
            if flow.longest_segment[larger] > longest[larger] {
                longest[larger] = flow.longest_segment[larger];
                is_origin[larger] = larger == origin;
            }
        }
        let sides = [0, 1].into_iter().filter(|side| longest[*side] > 0);
        let line = |side: usize| {
            let (name, bytes) = (["A", "B"][side], grouped(u64::from(longest[side])));
            let (what, how) = if is_origin[side] {
                ("not split by the NIC yet (TSO)", "tso off gso off")
            } else {
                ("joined by GRO or LRO", "gro off lro off")
            };
            format!(
                "{name}: TCP segments of up to {bytes} bytes, {what}: for a delay of each packet, capture after ethtool -K IFACE {how}"
            )
        };
        sides.map(line).collect()
    }
}

impl OneFlow {
    fn print(&self, page: &mut Page, unit_ns: u64) {
        let flow = self.flow.as_ref().map(|flow| &flow.text);
        let frames = self.frames.as_ref().map(|frames| &frames.text);
        let name = flow.or(frames).map_or("other flows", String::as_str);
        let (way, sent) = match self.direction {
            "a_to_b" => ("A to B", self.in_a),
            _ => ("B to A", self.in_b),
        };
        page.heading(&format!("{name} ({way})"));
        let both = grouped(self.matched);
        page.field(
            "packets",
            &format!(
                "{} in A, {} in B, {both} in both",
                grouped(self.in_a),
                grouped(self.in_b)
            ),
        );
        if self.ambiguous > 0 {
            page.field(
                "look alike",
                &format!("{}, without a delay", grouped(self.ambiguous)),
            );
        }
        let without_delay = [
            (self.without_time, "without time"),
            (self.across_step, "across a step"),
        ];
        for (count, what) in without_delay.into_iter().filter(|(count, _)| *count > 0) {
            page.field(what, &format!("{}, without a delay", grouped(count)));
        }
        if !self.resegmented.is_zero() {
            let text = self.resegmented.text();
            page.field("resegmented", &format!("{text}, without a delay"));
        }
        if !self.undecided.is_zero() {
            let text = self.undecided.text();
            let why = if self.frames.is_some() {
                "bridges do not forward these frames, stations alter them, the other file has frames that cannot be compared, these have no time, or too many waited"
            } else {
                "the other file has packets that cannot be compared, these have no time or may be copies, too many waited, or a clock was stepped"
            };
            page.field("undecided", &format!("{text}: {why}"));
        }
        page.field("lost", &share(self.lost, sent));
        page.field("duplicated", &share(self.duplicated, sent));
        page.field("reordered", &share(self.reordered, sent));
        if self.extra > 0 {
            page.field("not seen sent", &grouped(self.extra));
        }
        if self.outside > 0 {
            page.field(
                "outside",
                &format!("{} while only one was captured", grouped(self.outside)),
            );
        }
        match &self.delays[..] {
            [] => {}
            [one] => page.field("delay", &one.delay.text(unit_ns)),
            // nobody knows by how much a step moved them
            several => {
                for OneDelay { steps, delay } in several {
                    page.field("delay", &delay.text(unit_ns));
                    page.field(
                        "",
                        &format!(
                            "{} packets after {} steps of A's clock and {} of B's",
                            grouped(delay.count),
                            steps.a,
                            steps.b
                        ),
                    );
                }
            }
        }
    }
}
