//! What `capture` takes on the command line.

use super::Source;
use super::time;
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
    /// Name of the interface
    #[arg(value_name = "IFACE", required = true)]
    pub(crate) interface: Option<String>,
    /// Which packets, as for tcpdump (man pcap-filter): udp port 319; all if it is left out
    #[arg(value_name = "FILTER")]
    pub(crate) filter: Vec<String>,
    /// Write the packets to a pcapng file, - for standard output; without it they are shown
    #[arg(long, help_heading = FILES, short, value_name = "FILE")]
    pub(crate) write: Option<PathBuf>,
    /// How many packets
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) count: Option<u64>,
    /// How long; until Ctrl-C if it is left out, except on a simulated interface, or `ever`
    #[arg(short = 'd', long = "for", value_name = "TIME", value_parser = time::length)]
    pub(crate) duration: Option<Duration>,
    /// How many bytes of each packet to capture
    #[arg(long, short, value_name = "BYTES", default_value_t = 262_144, value_parser = clap::value_parser!(u32).range(1..=262_144))]
    pub(crate) snaplen: u32,
    /// Whose clock timestamps: auto takes the NIC's if it timestamps every packet now
    #[arg(long, value_enum, value_name = "SOURCE", default_value_t = Source::Software)]
    pub(crate) source: Source,
    /// Also what the NIC receives for others
    #[arg(long, help_heading = KERNEL)]
    pub(crate) promiscuous: bool,
    /// The kernel's buffer, in MiB; with --queues, of each
    #[arg(long, help_heading = KERNEL, hide_short_help = true, value_name = "MIB", default_value_t = 32, value_parser = clap::value_parser!(u32).range(2..=16_384))]
    pub(crate) buffer: u32,
    /// Divide the packets by flow among so many buffers and threads, for more packets than one processor can take
    #[arg(long, help_heading = KERNEL, hide_short_help = true, value_name = "N", default_value_t = 1, requires = "write", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) queues: u32,
    /// Add packets with their timestamps to Parquet files in this folder, as `record --parquet` does; in programs built with it
    #[arg(long, help_heading = FILES, value_name = "DIR", conflicts_with = "queues")]
    pub(crate) parquet: Option<PathBuf>,
    /// Name of this host in those files, unique in the fleet
    #[arg(long, help_heading = FILES, hide_short_help = true,
        value_name = "NAME",
        requires = "parquet",
        conflicts_with = "queues"
    )]
    pub(crate) host: Option<String>,
    /// Begin a new file when one has so many bytes (1 MiB at least)
    #[arg(long, help_heading = FILES, value_name = "BYTES", requires = "write", value_parser = clap::value_parser!(u64).range(1 << 20..))]
    pub(crate) rotate_size: Option<u64>,
    /// Begin a new file after so long
    #[arg(long, help_heading = FILES, value_name = "TIME", requires = "write", value_parser = time::duration)]
    pub(crate) rotate_every: Option<Duration>,
    /// Keep only so many files of this run, the newest
    #[arg(long, help_heading = FILES, value_name = "N", requires = "write", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) files: Option<u32>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// What happened to packets between two captures: delay, loss, duplication, reordering
    #[command(after_help = COMPARE)]
    Compare(Compare),
    /// How long answers take in one capture: UDP requests, TCP handshakes and acknowledgments
    #[command(after_help = ANSWERS)]
    Answers(Answers),
}

#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// A capture: pcapng or pcap
    #[arg(value_name = "A")]
    pub(crate) a: PathBuf,
    /// Another one, of the same time
    #[arg(value_name = "B")]
    pub(crate) b: PathBuf,
    /// Find packets whose addresses and ports were rewritten in between
    #[arg(long)]
    pub(crate) nat: bool,
    /// Find packets whose VLAN tags were changed in between
    #[arg(long)]
    pub(crate) vlan: bool,
    /// How far the clocks of the two captures can be apart: part of each error bound. 0 for two captures of one host
    #[arg(long, value_name = "TIME", value_parser = time::with_unit)]
    pub(crate) clock_bound: Option<Duration>,
    /// How long a packet of one capture waits for its like: longer than any delay
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = time::duration)]
    pub(crate) window: Duration,
    /// How many packets wait at most: about 240 bytes of memory each
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1_000..=100_000_000))]
    pub(crate) max_waiting: u32,
    /// How many flows to show; --json has all
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) flows: usize,
}

#[derive(Debug, Args)]
pub(crate) struct Answers {
    /// A capture: pcapng or pcap
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// After how long a UDP request is unanswered
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = time::duration)]
    pub(crate) timeout: Duration,
    /// How many services to show; --json has all
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) services: usize,
}

pub(super) const HELP: &str = "\
Captures what the interface receives and sends, whoever it is for; each packet has its time in UTC, whose clock made the \
timestamp, the error bound and the clock's generation. Needs root or CAP_NET_RAW, and Linux. Filters are compiled by libpcap, if it \
is installed.

Simulated interfaces (sim0, sim1) are captured everywhere, in virtual time, without filters: say how long or how many packets. What \
passes there is what the [[traffic]] of a scenario sends; without it, sim1 sends sim0 a UDP request every 10 ms and gets an answer. The \
same --seed is the same traffic, so one run on sim0 and one on sim1 are captures of both ends. With --count alone, an hour \
without a packet is the end.

With --write the packets go to a pcapng file, which Wireshark, tshark and tcpdump read: times in nanoseconds, clock, bound and \
generation as a comment of each packet, received and dropped packets in the interface's statistics. While a file grows it is called \
FILE.partial, and it is readable; it takes its name when it is complete. With --rotate-size or --rotate-every, files are called \
NAME-00001.EXT and so on, from the highest number on that is there; --files counts those of this run, and no other file is touched. Exit code 6: the kernel dropped packets, because they came faster than they were written.

With --parquet, UDP, TCP and other IP packets become rows of the fleet's table `timestamps`: `wirestamp-fleet latency` joins those of \
two hosts to one-way delays. A packet's sequence number is the same wherever it is captured. Sent packets that look alike \
within 10 s have none that is theirs alone, and no time: nobody could tell which one arrived.

With --json, one object a line: each packet, unless it is written to a file, and at the end a summary.

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
Finds the same packets in both: by addresses, ports, protocol, VLAN, IPv4 identification, TCP numbers, length and the first 64 \
bytes of the payload; TCP by its bytes too, however GRO, LRO or TSO cut them, and these have no delay. Only what is not there is lost: as many \
packets as cannot be compared are undecided. Delay is B's time minus A's, or the other way round, as the flow goes. Its error bound is that of both timestamps \
plus --clock-bound; without it, the clocks are taken to agree, and the output says so. Captures need not fit into memory: see --window and \
--max-waiting. Packets of a time in which only one capture was made are counted apart. Pairs across a step of the real-time clock have no delay. 1,024 flows have figures of their own.

Examples:
  wirestamp capture compare a.pcapng b.pcapng
  wirestamp capture compare a.pcapng b.pcapng --clock-bound 50us --json
  wirestamp capture compare inside.pcapng outside.pcapng --nat --clock-bound 0";

const ANSWERS: &str = "\
Times are those at which packets passed the place of the capture. A UDP answer counts while exactly one request waits, an \
acknowledgment for a segment that was sent once; the others are ambiguous.

Examples:
  wirestamp capture answers a.pcapng
  wirestamp capture answers a.pcapng --timeout 1s --json";
