//! `capture compare`: what happened to packets between two captures.

use super::{Times, nanoseconds, open, share};
use crate::arguments;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Output, Page, Report, Rows, grouped, plural};
use serde::Serialize;
use std::path::Path;
use std::time::Duration;
use wirestamp::Span;
use wirestamp_capture::compare::{self, FlowReport, Options, Way};
use wirestamp_capture::packet::Flow;

#[derive(Serialize)]
struct Compared {
    a: OneSide,
    b: OneSide,
    clock_bound_ns: Option<u64>,
    not_ip: u64,
    cut_off: u64,
    without_time: u64,
    given_up: u64,
    flows: Vec<OneFlow>,
    #[serde(skip)]
    shown: usize,
}

#[derive(Serialize)]
struct OneSide {
    file: String,
    packets: u64,
    /// By the capture itself; `None`: the file does not say.
    dropped: Option<u64>,
    truncated: bool,
}

#[derive(Serialize)]
struct OneFlow {
    flow: Option<FlowName>,
    direction: &'static str,
    in_a: u64,
    in_b: u64,
    matched: u64,
    ambiguous: u64,
    lost: u64,
    duplicated: u64,
    reordered: u64,
    extra: u64,
    outside: u64,
    delay: Option<Times>,
}

#[derive(Serialize)]
struct FlowName {
    protocol: u8,
    source: String,
    source_port: u16,
    destination: String,
    destination_port: u16,
    #[serde(skip)]
    text: String,
}

pub(super) fn run(
    arguments: &arguments::CaptureCompare,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let (mut a, mut b) = (open(&arguments.a)?, open(&arguments.b)?);
    let mut options = Options::default();
    options.nat = arguments.nat;
    options.vlan = arguments.vlan;
    options.window_ns = nanoseconds(arguments.window);
    options.most_waiting = arguments.max_waiting as usize;
    let whole = |bound: Duration| nanoseconds(bound).unsigned_abs();
    options.clock_bound_ns = arguments.clock_bound.map(whole);
    let found = compare::compare(&mut a, &mut b, options)?;
    let side = |path: &Path, place: usize| OneSide {
        file: path.display().to_string(),
        packets: found.packets[place],
        dropped: found.dropped[place],
        truncated: found.truncated[place],
    };
    let report = Compared {
        a: side(&arguments.a, 0),
        b: side(&arguments.b, 1),
        clock_bound_ns: options.clock_bound_ns,
        not_ip: found.not_ip,
        cut_off: found.cut_off,
        without_time: found.without_time,
        given_up: found.given_up,
        flows: found.flows.iter().map(OneFlow::from).collect(),
        shown: arguments.flows,
    };
    output.report(&report)?;
    Ok(Exit::Success)
}

impl From<&FlowReport> for OneFlow {
    fn from(report: &FlowReport) -> Self {
        Self {
            flow: report.flow.map(FlowName::from),
            direction: match report.way {
                Way::AToB => "a_to_b",
                Way::BToA => "b_to_a",
            },
            in_a: report.in_a,
            in_b: report.in_b,
            matched: report.matched,
            ambiguous: report.ambiguous,
            lost: report.lost,
            duplicated: report.duplicated,
            reordered: report.reordered,
            extra: report.extra,
            outside: report.outside,
            delay: report.delay.map(Times::from),
        }
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

impl Report for Compared {
    fn rows(&self, rows: &mut Rows) {
        self.flows.iter().for_each(|row| rows.row(row));
    }

    fn print(&self, page: &mut Page) {
        for (name, side) in [("A", &self.a), ("B", &self.b)] {
            let dropped = match side.dropped {
                Some(dropped) => format!("{} dropped by the capture", grouped(dropped)),
                None => "drops not told".into(),
            };
            let cut = if side.truncated {
                ", ends within a packet"
            } else {
                ""
            };
            let packets = plural(side.packets, "packet");
            page.line(&format!("{name}: {}: {packets}, {dropped}{cut}", side.file));
        }
        for flow in self.flows.iter().take(self.shown) {
            page.gap();
            flow.print(page);
        }
        page.gap();
        if self.flows.len() > self.shown {
            let more = plural((self.flows.len() - self.shown) as u64, "more flow");
            page.quiet(&format!("{more}: --flows, --json"));
        }
        match self.clock_bound_ns {
            Some(bound) => {
                let bound = Span::from_nanoseconds(i128::from(bound));
                page.quiet(&format!("error bounds include ±{bound} between the clocks"));
            }
            None => {
                page.quiet("delays hold as far as both clocks agree: say how far by --clock-bound");
            }
        }
        let left_out = [
            (self.not_ip, "not IP"),
            (self.cut_off, "cut off: capture more of each packet"),
            (self.without_time, "without a time"),
            (self.given_up, "given up: see --max-waiting"),
        ];
        for (count, why) in left_out.into_iter().filter(|(count, _)| *count > 0) {
            page.quiet(&format!("{}: {why}", plural(count, "packet")));
        }
    }
}

impl OneFlow {
    fn print(&self, page: &mut Page) {
        let name = self.flow.as_ref().map_or("other flows", |flow| &flow.text);
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
        if let Some(delay) = &self.delay {
            page.field("delay", &delay.text());
        }
    }
}
