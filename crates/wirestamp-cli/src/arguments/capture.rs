//! What `capture` takes on the command line.

use super::Source;
use super::{limits, time};
use clap::{Args, Subcommand};
use std::path::PathBuf;
use std::time::Duration;

/// The groups of options in the help.
const FILES: &str = "Files to write";
const KERNEL: &str = "How the kernel captures";

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Capture {
    #[command(subcommand)]
    pub(crate) action: Option<Action>,
    /// Interface
    #[arg(value_name = "IFACE", required = true)]
    pub(crate) interface: Option<String>,
    /// Filter, as for tcpdump (man pcap-filter): udp port 319 [default: all packets]
    #[arg(value_name = "FILTER")]
    pub(crate) filter: Vec<String>,
    /// Write the packets to a pcapng file (- for standard output) instead of printing them
    #[arg(long, help_heading = FILES, short, value_name = "FILE")]
    pub(crate) write: Option<PathBuf>,
    /// Number of packets
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) count: Option<u64>,
    /// How long to capture [default: until Ctrl-C, as with `ever`; not on a simulated interface]
    #[arg(short = 'd', long = "for", value_name = "TIME", value_parser = time::length)]
    pub(crate) duration: Option<Duration>,
    /// Bytes to capture of each packet
    #[arg(long, short, value_name = "BYTES", default_value_t = 262_144, value_parser = clap::value_parser!(u32).range(1..=262_144))]
    pub(crate) snaplen: u32,
    /// Which timestamps to use
    #[arg(long, value_enum, value_name = "SOURCE", default_value_t = Source::Software)]
    pub(crate) source: Source,
    /// Promiscuous mode: also packets for other hosts
    #[arg(long, help_heading = KERNEL)]
    pub(crate) promiscuous: bool,
    /// Size of the kernel's buffer in MiB; with --queues, of each
    #[arg(long, help_heading = KERNEL, hide_short_help = true, value_name = "MIB", default_value_t = 32, value_parser = clap::value_parser!(u32).range(2..=16_384))]
    pub(crate) buffer: u32,
    /// Divide the packets by flow among N buffers and threads, if one processor is too slow
    #[arg(long, help_heading = KERNEL, hide_short_help = true, value_name = "N", default_value_t = 1, requires = "write", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) queues: u32,
    /// Write the packets' timestamps as Parquet files below this folder, as `record --parquet` does
    #[arg(long, help_heading = FILES, value_name = "DIR", conflicts_with = "queues")]
    pub(crate) parquet: Option<PathBuf>,
    /// Name of this host in the Parquet files, unique in the fleet [default: the system's host name]
    #[arg(long, help_heading = FILES, hide_short_help = true,
        value_name = "NAME",
        requires = "parquet",
        conflicts_with = "queues"
    )]
    pub(crate) host: Option<String>,
    /// Begin a new file at this size (at least 1 MiB)
    #[arg(long, help_heading = FILES, value_name = "BYTES", requires = "write", value_parser = clap::value_parser!(u64).range(1 << 20..))]
    pub(crate) rotate_size: Option<u64>,
    /// Begin a new file after this time
    #[arg(long, help_heading = FILES, value_name = "TIME", requires = "write", value_parser = time::duration)]
    pub(crate) rotate_every: Option<Duration>,
    /// Keep only the newest N files of this run
    #[arg(long, help_heading = FILES, value_name = "N", requires = "write", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) files: Option<u32>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// Compare two captures: delay, loss, duplication and reordering between them
    #[command(after_help = COMPARE)]
    Compare(Compare),
    /// Measure response times in one capture: UDP requests, TCP handshakes and acknowledgments
    #[command(after_help = ANSWERS)]
    Answers(Answers),
}

#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// A capture: pcapng or pcap, also in .gz; a folder with all its files; - for standard input
    #[arg(value_name = "A")]
    pub(crate) a: PathBuf,
    /// Another one, of the same time
    #[arg(value_name = "B")]
    pub(crate) b: PathBuf,
    /// Find packets whose addresses and ports were rewritten in between
    #[arg(long)]
    pub(crate) nat: bool,
    /// Count packets once that a mirror port sent twice: the same IPv4 identification and content within 10 ms
    #[arg(long)]
    pub(crate) copies: bool,
    /// Find packets whose VLAN tags were changed in between
    #[arg(long)]
    pub(crate) vlan: bool,
    /// Largest difference of the two captures' clocks, part of each error bound; 0 for two captures of one host
    #[arg(long, value_name = "TIME", value_parser = time::with_unit)]
    pub(crate) clock_bound: Option<Duration>,
    /// How long to wait for a packet of one capture in the other: longer than any delay
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = time::duration)]
    pub(crate) window: Duration,
    /// Largest number of packets that wait: about 250 bytes of memory each
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1_000..=100_000_000))]
    pub(crate) max_waiting: u32,
    /// Largest share of lost packets of all flows, undecided ones included: `0.1` or `0.1%`
    #[arg(long, help_heading = limits::HEADING, value_name = "PERCENT", value_parser = limits::percent)]
    pub(crate) max_loss: Option<f64>,
    /// Largest delay of 99 % of a flow's packets, for every flow
    #[arg(long, help_heading = limits::HEADING, value_name = "TIME", value_parser = time::with_unit)]
    pub(crate) max_p99: Option<Duration>,
    /// Number of flows to show; --json has all
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) flows: usize,
}

#[derive(Debug, Args)]
pub(crate) struct Answers {
    /// A capture: pcapng or pcap, also in .gz; a folder with all its files; - for standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// A UDP request without an answer for this long counts as unanswered
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = time::duration)]
    pub(crate) timeout: Duration,
    /// Count packets once that a mirror port sent twice: the same IPv4 identification and content within 10 ms
    #[arg(long)]
    pub(crate) copies: bool,
    /// Number of services to show; --json has all
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) services: usize,
}

pub(super) const HELP: &str = "\
Captures the packets that the interface receives and sends. Each has its time in UTC, the source of the timestamp (software or \
hardware), the error bound and the clock generation. Needs Linux, and root or CAP_NET_RAW; filters need libpcap.

Simulated interfaces (sim0, sim1) can be captured on every system, in virtual time, without filters; they need --for or --count. The \
[[traffic]] of a scenario describes the packets; without it, sim1 sends sim0 a UDP request every 10 ms and gets an answer. The \
same --seed gives the same traffic, so a run on sim0 and one on sim1 are captures of both ends. With --count alone, the capture ends \
after an hour without a packet.

--write makes a pcapng file for Wireshark, tshark and tcpdump: times in nanoseconds; source, error bound and \
clock generation as a comment of each packet; received and dropped packets in the interface's statistics. While the file grows it is called \
FILE.partial and can be read. With --rotate-size or --rotate-every, files are called \
NAME-00001.EXT and so on, after the highest number that exists; --files counts the files of this run, and no other file is deleted. Exit code 6: the kernel dropped packets, because they came faster than they were written.

With --parquet (in programs built with that feature), IP packets become rows of the fleet's table `timestamps`: `wirestamp-fleet latency` \
joins those of two hosts to one-way delays. A packet has the same sequence number wherever it is captured. Sent packets that look \
alike within 10 s cannot be told apart on arrival, so they get no time.

With --json, prints one object per line: each packet, unless it is written to a file, and a summary at the end.

Examples:
  wirestamp capture eth0
  wirestamp capture eth0 udp port 319 or udp port 320
  wirestamp capture eth0 --for 60s -w ptp.pcapng udp port 319
  wirestamp capture eth0 -w ring.pcapng --rotate-every 1h --files 24 --snaplen 128
  wirestamp capture eth0 -w all.pcapng --queues 4 --buffer 64
  wirestamp capture eth0 --parquet recordings --host web-7 --snaplen 192
  wirestamp capture eth0 --source hardware --count 1000 --json
  wirestamp --sim i225 capture sim0 --for 1s -w sim0.pcapng
  wirestamp capture compare a.pcapng b.pcapng --clock-bound 50us
  wirestamp capture answers a.pcapng";

const COMPARE: &str = "\
Finds the same packets in both captures: by addresses, ports, protocol, VLAN, IPv4 identification, TCP numbers, length and the first 64 \
bytes of the payload; TCP also by sequence ranges, however GRO, LRO or TSO cut the segments (such a pair has no delay). Ethernet frames without IP are compared by their bytes. A packet counts as lost only if it is \
absent: packets that cannot be compared are undecided. A packet that a file has again from another interface or direction, as with \
tcpdump -i any, counts once, where it was seen first. The delay is the time in the capture where the packet arrives minus that where it left. Its error bound is that of both timestamps \
plus --clock-bound; without that option the clocks are assumed to agree, and the output says so. Captures need not fit into memory: see --window and \
--max-waiting. Packets from a time that only one capture covers are counted apart. Pairs across a step of the real-time clock have no delay. Up to 1,024 flows have figures of their own.

Examples:
  wirestamp capture compare a.pcapng b.pcapng
  wirestamp capture compare a.pcapng b.pcapng --clock-bound 50us --json
  wirestamp capture compare a.pcapng b.pcapng --max-loss 0.1% --max-p99 2ms
  wirestamp capture compare ring/ b.pcapng
  wirestamp capture compare inside.pcapng outside.pcapng --nat --clock-bound 0
  ssh tap tcpdump -i eth0 --time-stamp-precision=nano -c 10000 -w - | wirestamp capture compare - b.pcapng.gz";

const ANSWERS: &str = "\
Times are those at which packets passed the place of the capture. A UDP answer counts if exactly one request waits for it, an \
acknowledgment if its segment was sent once; all others are ambiguous. A packet that the file has again from another interface or \
direction, as with tcpdump -i any, counts once, where it was seen first.

Examples:
  wirestamp capture answers a.pcapng
  wirestamp capture answers ring/
  wirestamp capture answers a.pcapng --timeout 1s --json";
