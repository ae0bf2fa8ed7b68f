//! What stands below the options in each command's help: explanations and examples.

pub(super) const PROGRAM: &str = "\
Examples:
  wirestamp doctor
  wirestamp latency
  wirestamp ntp pool.ntp.org";

pub(super) const COMPLETIONS: &str = "\
bash: `source <(wirestamp completions bash)`. zsh: save it as ~/.zfunc/_wirestamp. fish: save it as \
~/.config/fish/completions/wirestamp.fish. PowerShell: pipe it to `Out-String | Invoke-Expression`. The \
Debian package installs the first three.

Examples:
  wirestamp completions bash
  wirestamp completions zsh";

pub(super) const COMPLETE: &str = "\
Examples:
  wirestamp complete presets
  wirestamp complete interfaces
  wirestamp complete interfaces -- wirestamp --sim igb latency";

pub(super) const MANUAL: &str = "\
Examples:
  wirestamp manual .
  wirestamp manual /usr/local/share/man/man1";

pub(super) const INTERFACES: &str = "\
Examples:
  wirestamp interfaces
  wirestamp interfaces --json
  wirestamp interfaces --simulated --sim igb";

pub(super) const CAPABILITIES: &str = "\
\"Observed\" lists the timestamps that really came: a short probe sends datagrams to itself over the loopback and the \
simulated interfaces. Other interfaces are \"not probed\" without --probe.

Examples:
  wirestamp capabilities
  wirestamp capabilities lo
  wirestamp capabilities lo --all
  wirestamp capabilities eth0 --probe 192.0.2.1
  wirestamp capabilities sim0 --sim igb";

pub(super) const ENABLE: &str = "\
The setting belongs to the NIC: it holds for all programs and stays after this command ends. Needs root or \
CAP_NET_ADMIN on Linux. On Windows it is a driver property: see `wirestamp doctor IFACE`. \
The driver may grant more than was requested; the command prints what it granted.

Examples:
  wirestamp enable eth0
  wirestamp enable eth0 --all-packets
  wirestamp enable eth0 --off";

pub(super) const CROSS: &str = "\
Each reading is the narrowest of a quick batch: the monotonic clock before, the NIC's clock (PHC), the \
monotonic clock after. PHC - UTC is the PHC minus this host's real-time clock (positive: the PHC is ahead), PHC - TAI the same \
minus TAI - UTC: a PHC on the PTP timescale shows TAI. The true difference is within the error bound. Ctrl-C ends the run early \
with its summary.

Examples:
  wirestamp cross eth0 --count 50
  wirestamp cross eth0 --for 10m --html eth0.html
  wirestamp cross sim0 --sim noisy-cross --count 100 --interval 10ms --json";

pub(super) const RECORD: &str = "\
Events are lines of text: readings of both clocks, timestamps, notifications. A batch of readings that fails \
is left out and counted. Ctrl-C ends the recording early; it is then complete as well. A file given with --output \
is replaced only when the recording ends; if the disk is full, the events until then are in FILE.partial. With --json the summary goes to standard output, and the \
events need --output.

With --timestamps, three more batches of readings are taken at the end, also after Ctrl-C, because the last timestamps are converted \
only if later readings confirm them. This takes up to 6 s, which the reported duration does not include.

Parquet files are written as DIR/TABLE/day=…/hour=…, and a file that has its name is complete; `wirestamp-fleet` and other programs \
read them. A timestamp that could not be converted has the reason instead of a time. Needs a \
program built with --features parquet.

Examples:
  wirestamp record eth0 --for 60s
  wirestamp record eth0 --for 10m --interval 5s --output events.csv
  wirestamp record eth0 --for 60s --timestamps 10 --to 192.0.2.1
  wirestamp record eth0 --for 1h --timestamps 10 --to 192.0.2.1 --parquet recordings
  wirestamp record sim0 --sim igb --for 60s --timestamps 10";

pub(super) const CONVERT: &str = "\
Prints a row for each timestamp: hardware,monotonic_ns,error_bound_ns,generation,error. monotonic_ns is the middle of \
the timestamp's tick on the monotonic clock; the true time is within ±error_bound_ns of it. Both are empty if the \
timestamp cannot be converted; the last column has the reason. --json prints a summary instead of the rows.

By default each timestamp is converted with the readings before it only; with --later, also with the next batch of \
readings (readings less than 1 ms apart are one batch). The clock may have been stepped or adjusted just before the \
timestamp, so a row waits for the third batch after it: if these readings contradict the time, it is corrected or \
withdrawn with the reason. If fewer batches follow, the reason is \"unconfirmed\"; `record --timestamps` takes three batches at its end.

Events are converted as they are read, in bounded memory. A line that is invalid or longer than 65,536 bytes ends the conversion \
with exit code 2, after the rows before it. Limits of the summary: above 65,536 timestamps the median is within \
1 % (minimum, mean and maximum are exact); above 10,000 generations the first 9,999 and the newest are listed; above \
3,000 readings the plot shows the widest of each group. Above 262,144 waiting timestamps the oldest is unconfirmed.

Examples:
  wirestamp convert events.csv
  wirestamp convert events.csv --later --plot events.svg
  wirestamp convert events.csv --html events.html
  wirestamp convert - --json";

pub(super) const WATCH: &str = "\
With --json, prints one object with all changes at the end. Ctrl-C ends it early. Simulated \
interfaces are watched in virtual time and need --for.

Examples:
  wirestamp watch --for 10s
  wirestamp watch eth0
  wirestamp watch sim0 --sim vanishing --for 10s --json";

pub(super) const LATENCY: &str = "\
Without --peer, datagrams go from this host to itself, over the loopback or a simulated interface. With --peer, \
STAMP packets go to another host that runs `wirestamp reflect` or another reflector of RFC 8762; the result has the round trip, \
losses by direction, and the delay of each direction if the clocks are related (--clocks). The options for a peer are \
under \"To another host\". The warm-up is not counted. \
Without --rate or --interval, a datagram is sent when the previous one has arrived, or takes four times longer than any \
before (and at least 20 ms); that one is lost only after --timeout. Late arrivals are reported apart \
from lost packets. Ctrl-C ends the run early with its summary.

Examples:
  wirestamp latency
  wirestamp latency --count 100000 --size 1400 --json
  wirestamp latency --rate 5000 --ipv6
  wirestamp latency sim0 --source hardware --sim igc
  wirestamp latency --queue
  wirestamp latency --peer 192.0.2.1
  wirestamp latency eth0 --peer 192.0.2.1 --rate 100 --count 1000 --clocks utc --clock-bound 50us
  wirestamp latency --peer 127.0.0.1 --clocks same --key-file stamp.key --json
  wirestamp latency eth0 --peer db7 --rate 10 --count 864000 --parquet recordings
  wirestamp latency --peer sim1 --sim igc
  wirestamp latency eth0 --echo 192.0.2.1:7 --rate 1000 --timeout 10s
  wirestamp latency --histogram latency.hlog
  wirestamp latency --max-p99 50us --max-p99 send_path=20us --max-loss 0.1%
  wirestamp latency --count 1000 --format csv
  wirestamp latency --html latency.html --plot latency.svg
  wirestamp latency compare before.hlog after.hlog";

pub(super) const DOCTOR: &str = "\
Exit code 0: no check failed. 1: at least one failed.

Examples:
  wirestamp doctor
  wirestamp doctor eth0
  wirestamp doctor sim0 --sim unprivileged --json";

pub(super) const PTP: &str = "\
Measures, and steers a clock only with --steer, or `clock` in --config. Needs the UDP ports 319 and 320: root or \
CAP_NET_BIND_SERVICE. Over Ethernet it needs Linux, and root or CAP_NET_RAW. With --json, prints one object per \
line: each measured offset, each change of state, and a summary at the end.

Examples:
  wirestamp ptp eth0 --for 1h --html offset.html
  wirestamp ptp eth0 --p2p --ipv6 --domain 24 --json
  wirestamp ptp eth0 --transmit --profile w32time --sync 125ms
  wirestamp ptp eth0 eth1 --transmit --config ptp.toml
  wirestamp ptp eth0 --transport ethernet --enable-hardware
  wirestamp ptp sim0 --sim igc --for 30s
  wirestamp ptp --simulate jitter --plot jitter.svg
  wirestamp ptp status";

pub(super) const PRESETS: &str = "\
Examples:
  wirestamp presets
  wirestamp --sim igb capabilities sim0";
