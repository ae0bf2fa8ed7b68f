//! `capture answers`: how long answers take in one capture.

use super::{Times, Unused, nanoseconds, open, order_and_steps};
use crate::arguments;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Output, Page, Report, Rows, grouped, plural};
use serde::Serialize;
use wirestamp_capture::answers::{self, ServiceReport};

#[derive(Serialize)]
struct Answered {
    file: String,
    packets: u64,
    dropped: Option<u64>,
    truncated: bool,
    others: u64,
    unusable: Unused,
    out_of_order: u64,
    clock_steps: u64,
    left_out: u64,
    services: Vec<OneService>,
    #[serde(skip)]
    shown: usize,
}

#[derive(Serialize)]
struct OneService {
    protocol: u8,
    address: String,
    port: u16,
    answers: Option<Times>,
    handshake_service: Option<Times>,
    handshake_client: Option<Times>,
    acknowledged_by_service: Option<Times>,
    acknowledged_by_client: Option<Times>,
    unanswered: u64,
    undecided: u64,
    ambiguous: u64,
    without_time: u64,
    across_step: u64,
}

pub(super) fn run(
    arguments: &arguments::CaptureAnswers,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let mut reader = open(&arguments.file)?;
    let found = answers::answers(&mut reader, nanoseconds(arguments.timeout))?;
    output.report(&Answered {
        file: arguments.file.display().to_string(),
        packets: found.packets,
        dropped: found.dropped,
        truncated: found.truncated,
        others: found.others,
        unusable: found.unusable.into(),
        out_of_order: found.out_of_order,
        clock_steps: found.clock_steps,
        left_out: found.left_out,
        services: found.services.iter().map(OneService::from).collect(),
        shown: arguments.services,
    })?;
    Ok(Exit::Success)
}

impl From<&ServiceReport> for OneService {
    fn from(report: &ServiceReport) -> Self {
        Self {
            protocol: report.service.protocol,
            address: report.service.address.to_string(),
            port: report.service.port,
            answers: report.answers.map(Times::from),
            handshake_service: report.handshake_service.map(Times::from),
            handshake_client: report.handshake_client.map(Times::from),
            acknowledged_by_service: report.acknowledged_by_service.map(Times::from),
            acknowledged_by_client: report.acknowledged_by_client.map(Times::from),
            unanswered: report.unanswered,
            undecided: report.undecided,
            ambiguous: report.ambiguous,
            without_time: report.without_time,
            across_step: report.across_step,
        }
    }
}

impl Report for Answered {
    fn rows(&self, rows: &mut Rows) {
        self.services.iter().for_each(|row| rows.row(row));
    }

    fn print(&self, page: &mut Page) {
        let dropped = match self.dropped {
            Some(dropped) => format!("{} dropped by the capture", grouped(dropped)),
            None => "drops not reported".into(),
        };
        let cut = if self.truncated {
            ", ends within a packet"
        } else {
            ""
        };
        page.line(&format!(
            "{}: {}, {dropped}{cut}",
            self.file,
            plural(self.packets, "packet")
        ));
        for service in self.services.iter().take(self.shown) {
            page.gap();
            service.print(page);
        }
        if self.services.len() > self.shown {
            page.gap();
            let more = plural((self.services.len() - self.shown) as u64, "more service");
            page.quiet(&format!("{more}: --services, --json"));
        }
        let left_out = [
            (self.others, "neither UDP nor TCP, or fragments"),
            (self.left_out, "of services beyond the first 1,024"),
        ];
        for (count, why) in left_out.into_iter().filter(|(count, _)| *count > 0) {
            page.quiet(&format!("{}: {why}", plural(count, "packet")));
        }
        let said = self.unusable.lines();
        let more = order_and_steps(self.out_of_order, self.clock_steps);
        for line in said.iter().chain(&more) {
            page.quiet(line);
        }
    }
}

impl OneService {
    fn print(&self, page: &mut Page) {
        let name = if self.protocol == 6 { "TCP" } else { "UDP" };
        page.heading(&format!("{name} {} port {}", self.address, self.port));
        let times = [
            ("answers", &self.answers),
            ("SYN to SYN-ACK", &self.handshake_service),
            ("SYN-ACK to ACK", &self.handshake_client),
            ("ACK by service", &self.acknowledged_by_service),
            ("ACK by client", &self.acknowledged_by_client),
        ];
        for (what, times) in times {
            if let Some(times) = times {
                page.field(what, &format!("{}: {}", grouped(times.count), times.text()));
            }
        }
        let counts = [
            ("unanswered", self.unanswered, ""),
            (
                "undecided",
                self.undecided,
                ": an answer may be a packet that cannot be used, or come after the capture's end; or too many waited",
            ),
            ("ambiguous", self.ambiguous, ""),
            ("without time", self.without_time, ", not timed"),
            (
                "across a step",
                self.across_step,
                " of the clock, not timed",
            ),
        ];
        for (what, count, more) in counts.into_iter().filter(|(_, count, _)| *count > 0) {
            page.field(what, &format!("{}{more}", grouped(count)));
        }
    }
}
