//! `capture answers`: how long answers take in one capture.

use super::input::open;
use super::{Times, Unused, coarse, mirrored, nanoseconds, order_and_steps};
use crate::arguments;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Output, Page, Report, Rows, grouped, plural};
#[cfg(all(test, feature = "schema"))]
use crate::schema::Document;
use serde::Serialize;
use wirestamp_capture::answers::{self, Options, ServiceReport};

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Answered {
    /// Name of the file.
    file: String,
    /// Packets in the file.
    packets: u64,
    /// Packets that the capture itself dropped; null: the file does not say.
    dropped: Option<u64>,
    /// Whether the file ends within a packet.
    truncated: bool,
    /// IP packets that are neither TCP nor UDP, and fragments.
    others: u64,
    /// Packets that could not be used, by reason.
    unusable: Unused,
    /// Packets that the file has again from another interface or direction; each counts once.
    copies: u64,
    /// Packets that the file has again within 10 ms, with the same IPv4 identification: a mirror port seems to have sent them twice.
    mirrored: u64,
    /// Unit of the file's times: 1 is nanoseconds or finer.
    unit_ns: u64,
    /// Packets that stand behind a later one; they were put in order.
    out_of_order: u64,
    /// Steps of the real-time clock that the file reports.
    clock_steps: u64,
    /// Packets of services beyond the first 1,024.
    left_out: u64,
    /// The one with most answers first.
    services: Vec<OneService>,
    #[serde(skip)]
    is_once: bool,
    #[serde(skip)]
    shown: usize,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct OneService {
    /// 6 is TCP, 17 is UDP.
    protocol: u8,
    /// The service's address.
    address: String,
    /// The service's port.
    port: u16,
    /// UDP: from a request to its answer.
    answers: Option<Times>,
    /// TCP: from the client's SYN to the service's.
    handshake_service: Option<Times>,
    /// TCP: from the service's SYN to the client's ACK.
    handshake_client: Option<Times>,
    /// TCP: from a segment of the client's to the service's ACK.
    acknowledged_by_service: Option<Times>,
    /// TCP: from a segment of the service's to the client's ACK.
    acknowledged_by_client: Option<Times>,
    /// UDP requests that nothing answered.
    unanswered: u64,
    /// UDP requests without an answer that may have had one: as many packets cannot be used that may be answers, the
    /// capture ends before their timeout, a datagram that may be several answers came while they waited, or too many
    /// others waited.
    undecided: u64,
    /// Answers that could be to more than one packet, or to one that was sent again; and packets of a service that may
    /// be answers to requests that the file does not have.
    ambiguous: u64,
    /// Answers and acknowledgments that are not timed, because they or their requests have no time.
    without_time: u64,
    /// Answers and acknowledgments that are not timed, because the real-time clock was stepped in between.
    across_step: u64,
}

#[cfg(all(test, feature = "schema"))]
pub(super) fn schema() -> Document {
    Document::of::<Answered>(
        "capture-answers",
        "Output of `wirestamp capture answers FILE --json`",
    )
    .row::<OneService>()
}

pub(super) fn run(
    arguments: &arguments::CaptureAnswers,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let mut reader = open(&arguments.file)?;
    let mut options = Options::from(nanoseconds(arguments.timeout));
    options.mirrored_once = arguments.copies;
    let found = answers::answers_with(&mut reader, options)?;
    output.report(&Answered {
        file: arguments.file.display().to_string(),
        packets: found.packets,
        dropped: found.dropped,
        truncated: found.truncated,
        others: found.others,
        unusable: found.unusable.into(),
        copies: found.copies,
        mirrored: found.mirrored,
        is_once: arguments.copies,
        unit_ns: found.unit_ns,
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
            service.print(page, self.unit_ns);
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
        let more = order_and_steps(self.copies, self.out_of_order, self.clock_steps);
        let twice = mirrored(self.mirrored, self.packets, self.is_once);
        let unit = coarse(&[("the file", self.unit_ns)]);
        for line in said.iter().chain(&more).chain(&twice).chain(&unit) {
            page.quiet(line);
        }
    }
}

impl OneService {
    fn print(&self, page: &mut Page, unit_ns: u64) {
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
                page.field(
                    what,
                    &format!("{}: {}", grouped(times.count), times.text(unit_ns)),
                );
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
