//! What stands below the options in each command's help: explanations and examples.

pub(super) const PROGRAM: &str = "\
Examples:
  wirestamp doctor
  wirestamp latency
  wirestamp ntp pool.ntp.org";

pub(super) const COMPLETIONS: &str = "\
Bash reads it by `source <(wirestamp completions bash)`; zsh from ~/.zfunc/_wirestamp, fish from \
~/.config/fish/completions/wirestamp.fish; PowerShell by `| Out-String | Invoke-Expression`. The \
Debian package brings the first three.

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
\"Observed\" is what really came: a short probe sends itself datagrams over the loopback and the \
simulated interfaces. Elsewhere it says \"not probed\" unless --probe names somebody to send to.

Examples:
  wirestamp capabilities
  wirestamp capabilities lo
  wirestamp capabilities lo --all
  wirestamp capabilities eth0 --probe 192.0.2.1
  wirestamp capabilities sim0 --sim igb";

pub(super) const ENABLE: &str = "\
One setting per NIC, shared by all programs; it is kept after this command ends. Needs root or \
CAP_NET_ADMIN on Linux. On Windows it is a driver property: see `wirestamp doctor IFACE`. \
The driver may grant more than was asked for; what it really granted is printed.

Examples:
  wirestamp enable eth0
  wirestamp enable eth0 --all-packets
  wirestamp enable eth0 --off";

pub(super) const CROSS: &str = "\
Each reading is the narrowest of a quick batch: the monotonic clock before, the NIC's clock (PHC), the \
monotonic clock after. PHC - UTC is the PHC minus this host's real-time clock (positive: the PHC is ahead), PHC - TAI the same \
minus TAI - UTC: a PHC on PTP's timescale shows TAI. The truth lies within the error bound. Ctrl-C ends it early and reports \
what was read.

Examples:
  wirestamp cross eth0 --count 50
  wirestamp cross sim0 --sim noisy-cross --count 100 --interval 10ms --json";

pub(super) const RECORD: &str = "\
The events are text, a line each: readings of both clocks, timestamps, notifications. A batch that fails \
is left out and counted. Ctrl-C ends it early; what was recorded is complete. A file given with --output \
is replaced when the recording ends, not before; if the disk is full, the events until then are in FILE.partial. With --json the summary goes to standard output, and the \
events need --output.

With --timestamps, three more batches of readings follow the end, also after Ctrl-C: the last timestamps are converted \
only if later readings confirm them. That takes up to 6 s, which the reported duration does not include.

Parquet files are below DIR/TABLE/day=…/hour=…, each complete once it has its name, for `wirestamp-fleet` and every other program \
that reads Parquet. A timestamp that could not be converted is in them without a time and with the reason. This needs a \
program built with --features parquet.

Examples:
  wirestamp record eth0 --for 60s
  wirestamp record eth0 --for 10m --interval 5s --output events.csv
  wirestamp record eth0 --for 60s --timestamps 10 --to 192.0.2.1
  wirestamp record eth0 --for 1h --timestamps 10 --to 192.0.2.1 --parquet recordings
  wirestamp record sim0 --sim igb --for 60s --timestamps 10";

pub(super) const CONVERT: &str = "\
Prints a row for each timestamp: hardware,monotonic_ns,error_bound_ns,generation,error. monotonic_ns is the middle of \
the timestamp's tick on the monotonic clock, and the truth lies within ±error_bound_ns of it. Both are empty where the \
timestamp cannot be converted; the last column says why. --json prints a summary instead of the rows.

Each timestamp is converted with the readings before it only. With --later, it is converted with the next batch of \
readings too (readings less than 1 ms apart are one batch). Nobody knows by then whether the clock was stepped or \
adjusted just before the timestamp, so a row waits for the third batch after it: what these readings contradict becomes \
another time, or is withdrawn with the reason. Where fewer batches follow the reason is unconfirmed; record takes them at \
its end.

Events are converted as they are read, in bounded memory. At a line that is invalid or longer than 65,536 bytes it stops \
with exit code 2; the rows before it are printed. Limits of the summary: above 65,536 timestamps the median is within \
1 % (minimum, mean and maximum are exact); above 10,000 generations the first 9,999 and the newest are listed; above \
3,000 readings the picture shows the widest of each few. Above 262,144 timestamps that wait the oldest is unconfirmed.

Examples:
  wirestamp convert events.csv
  wirestamp convert events.csv --later --plot events.svg
  wirestamp convert events.csv --html events.html
  wirestamp convert - --json";

pub(super) const WATCH: &str = "\
With --json, one object with all changes is printed at the end. Ctrl-C ends it early. Simulated \
interfaces are watched in virtual time, which needs --for.

Examples:
  wirestamp watch --for 10s
  wirestamp watch eth0
  wirestamp watch sim0 --sim vanishing --for 10s --json";

pub(super) const LATENCY: &str = "\
Without --peer, datagrams go from this host to itself: the loopback and simulated interfaces do that. With --peer, \
STAMP packets go to another host, which runs `wirestamp reflect` or another reflector of RFC 8762; the result has round trip, \
losses by direction, and the delay of each direction if the clocks are related (--clocks). The other options for a peer are listed \
under \"To another host\". The kernel's cold start is waited out and not counted. \
Without --rate or --interval, the next datagram is also sent when the last takes four times longer than any \
before (and at least 20 ms); that one is lost only after --timeout. Late arrivals are reported apart \
from packets that never arrive. Ctrl-C ends it early and reports what was measured.

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
Ends with code 0 if no check failed, else with 1.

Examples:
  wirestamp doctor
  wirestamp doctor eth0
  wirestamp doctor sim0 --sim unprivileged --json";

pub(super) const PTP: &str = "\
Measures, and changes nothing unless --steer says so. Needs the UDP ports 319 and 320: root or \
CAP_NET_BIND_SERVICE. With --json, one object a line: every Sync that told something, every change \
of state, and at the end a summary.

Examples:
  wirestamp ptp eth0 --for 1h --html offset.html
  wirestamp ptp eth0 --p2p --ipv6 --domain 24 --json
  wirestamp ptp eth0 --transmit --profile w32time --sync 125ms
  wirestamp ptp eth0 eth1 --transmit --config ptp.toml
  wirestamp ptp sim0 --sim igc --for 30s
  wirestamp ptp --simulate jitter --plot jitter.svg
  wirestamp ptp status";

pub(super) const PRESETS: &str = "\
Examples:
  wirestamp presets
  wirestamp --sim igb capabilities sim0";
