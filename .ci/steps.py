"""The steps of .ci/run: what each one checks, what it waits for, and how it may fail."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Step:
    """A script in scripts/, or a folder there with a script `run`."""

    name: str
    # Steps that must have ended: they build or install what this one uses.
    after: tuple[str, ...] = ("setup",)
    # How many processors it keeps busy, on average.
    processors: float = 1.0
    # Its result depends on time, on a network or on other programs: run once more if it fails. A deterministic step
    # that fails has failed; it also gets a lower priority, so that the others find the processors free.
    timed: bool = False
    # Nothing else runs beside it.
    alone: bool = False


DEBUG = ("compile",)  # uses the build of the README's test command
RELEASE = ("main-job",)  # uses the build of the README's main command

# In order of their start: long ones and those that others wait for first. The seconds are of processor time, from nothing.
STEPS = [
    Step("setup", after=(), processors=0.3, timed=True),  # what the other steps need
    Step("check-format", after=(), processors=0.5),
    Step("check-ci", after=(), processors=0.3),  # what runs these steps
    # what the README's test command builds; most others wait for it
    Step("compile", processors=2),
    # the README's test command, word for word (800 with its build)
    Step("test", after=DEBUG, processors=1.25, timed=True),
    # the Windows half: compiled, and run under Wine, also against our model (510)
    Step("windows", processors=1, timed=True),
    # the README's main command, word for word; 20,000 packets, none lost (150)
    Step("main-job", after=("setup",), processors=1.25, timed=True),
    # all features and targets; the null backend too (260)
    Step("check-clippy", after=DEBUG, processors=1.25),
    # AddressSanitizer and ThreadSanitizer (370)
    Step("sanitizers", processors=1, timed=True),
    # every fuzz target, for seconds (340)
    Step("fuzz", processors=1.25),
    # real drivers, clocks and kernels, in an emulated machine (330)
    Step("vm-test", after=DEBUG, processors=1.25, timed=True),
    # seeded runs of a steered clock, each held against what was stated for it (60 beside the build)
    Step("campaign", after=RELEASE, processors=1.25),
    # a small simulated fleet; the same rows from DuckDB, Spark and a cluster whose workers are killed (140)
    Step("fleet", after=DEBUG, processors=0.5, timed=True),
    # headers, examples, C tests, under sanitizers and valgrind too
    Step("c-api", after=DEBUG + RELEASE, processors=0.75, timed=True),
    Step("check-docs", after=DEBUG, processors=1.25),
    # the crates as they are published; the Debian package, in a Debian that knows nothing of us
    Step("package", after=DEBUG + RELEASE, processors=0.7, timed=True),
    # PTP against ptp4l, in network namespaces; every message through tshark (14; mostly waits)
    Step("ptp-interop", after=RELEASE, processors=0.2, timed=True),
    # NTP and NTS against chrony and ntpd-rs; chrony's packets through tshark
    Step("ntp-interop", after=DEBUG + RELEASE, processors=0.3, timed=True),
    # STAMP against stamp-suite; our packets through tshark and scapy
    Step("stamp-interop", after=RELEASE, processors=0.7, timed=True),
    # the monitor scraped by a real Prometheus; the rules and each query of the dashboard
    Step("monitor", after=DEBUG, processors=0.3, timed=True),
    # the guide's commands and programs run, its pages built, spelling and links checked
    Step("check-guide", after=DEBUG + RELEASE, processors=0.7, timed=True),
    # HTML reports and pictures in headless Chromium
    Step("check-report", after=RELEASE, processors=0.7, timed=True),
    # the monitor's page in headless Chromium
    Step("check-page", after=DEBUG, processors=0.7, timed=True),
    # the behaviours again, on io_uring
    Step("test-rings", after=DEBUG, processors=0.3, timed=True),
    Step("valgrind", after=DEBUG, processors=1, timed=True),
    # the words that threads share, in every order (40)
    Step("loom", processors=1.25),
    # licences, sources, advisories of the dependencies; the minimum Rust version
    Step("check-deny", processors=1.5),
    # the crates for Debian 13's own Rust, compiled by it
    Step("check-debian", processors=1.25),
    # wirestamp-core needs no std
    Step("check-no-std", processors=1),
    # systemd units: well-formed, and their exposure
    Step("check-units", processors=0.5),
    Step("miri", processors=1),
    # against an independent C program, on processors that do nothing else
    Step("compare-latency", after=RELEASE, processors=1, timed=True, alone=True),
]
