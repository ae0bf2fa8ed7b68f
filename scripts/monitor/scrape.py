"""A monitor in a namespace, with an NTP server, a reflector and a PTP timeTransmitter in another, and a monitor of simulated NICs:
their text is judged, Prometheus scrapes both, answers the dashboard's queries and evaluates the rules.
"""

import contextlib
import json
import math
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.parse

from operate import Prometheus, enter, fetch, inside, page_block, program, running, until
from prometheus_client import parser
from prometheus_client.openmetrics.parser import text_string_to_metric_families

WIRESTAMP = program()
FAILURES = []

MONITOR = """
host = "m"
[clocks]
interfaces = []
[[path]]
interface = "lo"
interval = "50ms"
[reflector]
listen = ["10.77.0.1:862"]
[[stamp]]
name = "t"
peer = "10.77.0.2"
interval = "20ms"
clocks = "same"
[[ntp]]
server = "10.77.0.2"
interval = "1s"
[[ptp]]
interface = "p0"
options = { transport = "udp6", source = "software", log_announce_interval = -3, log_delay_interval = -3 }
[history]
directory = "HISTORY"
[otlp]
endpoint = "http://127.0.0.1:8428/opentelemetry/v1/metrics"
interval = "1s"
"""

SIMULATED_HOST = "simulated NICs"
SIMULATED = """
host = "sim"
[http]
listen = "127.0.0.1:9863"
[[path]]
interface = "sim0"
interval = "50ms"
"""


def check(holds, what):
    if not holds:
        FAILURES.append(what)
        print(f"FAILED: {what}", flush=True)


@contextlib.contextmanager
def two_hosts():
    """Two namespaces and a veth pair between them."""
    names = [f"wsm-{os.getpid()}-{name}" for name in "mt"]

    def ip(text):
        subprocess.run(["ip", *text.split()], check=True)

    try:
        for name in names:
            ip(f"netns add {name}")
            ip(f"-n {name} link set lo up")
        ip(f"-n {names[0]} link add p0 type veth peer name p0 netns {names[1]}")
        for number, name in enumerate(names, 1):
            ip(f"-n {name} addr add 10.77.0.{number}/24 dev p0")
            ip(f"-n {name} addr add fd77::{number}/64 dev p0 nodad")
            ip(f"-n {name} link set p0 up")
        yield names
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], check=False)


def chronyd(folder, namespace):
    """An NTP server that leaves the clock alone."""
    folder.mkdir(mode=0o700)
    lines = ["local stratum 1", "allow", "cmdport 0", f"bindcmdaddress {folder}/control", f"pidfile {folder}/pid", "user root"]
    (folder / "conf").write_text("\n".join(lines) + "\n")
    return running(*inside(namespace, "chronyd", "-x", "-d", "-f", folder / "conf"))


def judge(name, address):
    """The text of one monitor: the strict parser, promtool, and what neither of them looks at."""
    body, headers = fetch(f"{address}/metrics", "application/openmetrics-text")
    check(headers["Content-Type"] == "application/openmetrics-text; version=1.0.0; charset=utf-8", f"{name}: {headers}")
    text = body.decode()
    families = list(text_string_to_metric_families(text))
    samples = [(sample.name, *sorted(sample.labels.items())) for family in families for sample in family.samples]
    check(len(samples) == len(set(samples)), f"{name}: a sample is there twice")
    check(all(math.isfinite(sample.value) for family in families for sample in family.samples), f"{name}: not finite")
    check(all(family.documentation for family in families), f"{name}: no help")
    marked = [(sample.labels, sample.exemplar) for family in families for sample in family.samples if sample.exemplar]
    histograms = {tuple(sorted(sample.labels.items())) for family in families for sample in family.samples if sample.name.endswith("_delay_seconds_count")}
    check(len(marked) == len(histograms) > 0, f"{name}: {len(marked)} exemplars in {len(histograms)} histograms")
    for labels, exemplar in marked:
        check(0 <= exemplar.value <= float(labels["le"]) and exemplar.labels["sequence"].isdigit(), f"{name}: {labels}: {exemplar}")
        # the simulated host's UTC is its own
        check(name == SIMULATED_HOST or 0 <= time.time() - float(exemplar.timestamp) < 90, f"{name}: {labels}: {exemplar} is too old")
    plain, headers = fetch(f"{address}/metrics", "*/*")
    check(headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8", f"{name}: {headers}")
    told = subprocess.run(["promtool", "check", "metrics"], input=plain, capture_output=True)
    check((told.returncode, told.stderr) == (0, b""), f"{name}: promtool: {told.stdout}{told.stderr}")
    read = [sample for family in parser.text_string_to_metric_families(plain.decode()) for sample in family.samples]
    # a scrape between them may have a series more
    check(abs(len(read) - len(samples)) < 20, f"{name}: {len(read)} samples in Prometheus' text, {len(samples)} in OpenMetrics")
    print(f"{name}: {len(families)} families, {len(samples)} samples, no fault")


def judges_notice_faults():
    """The parser and promtool are asked what they must refuse."""
    for text in ("# TYPE a counter\na 1\n# EOF\n", "# TYPE a gauge\na 1\n", "# TYPE a counter\na_total NaN\n# EOF\n",
                 "# TYPE a gauge\n# TYPE b gauge\na 1\nb 1\na{c=\"d\"} 1\n# EOF\n", "# TYPE a gauge\n# UNIT a seconds\na 1\n# EOF\n"):
        with contextlib.suppress(ValueError):
            list(text_string_to_metric_families(text))
            check(False, f"the strict parser takes {text!r}")
    wrong = "# HELP a_milliseconds A.\n# TYPE a_milliseconds counter\na_milliseconds 1\n"
    told = subprocess.run(["promtool", "check", "metrics"], input=wrong, capture_output=True, text=True)
    check(told.returncode != 0, "promtool takes a counter in milliseconds without _total")


def histograms(prometheus):
    """Native ones answer quantiles of 9 %, classic ones are beside them, and both have counted the same."""
    for metric, labels in (("wirestamp_stamp_delay_seconds", 'peer="t",segment="path"'), ("wirestamp_path_delay_seconds", 'interface="lo",segment="wire"')):
        sums = "sum by (instance)"
        native = prometheus.value(f"histogram_quantile(0.5, {sums} (rate({metric}{{{labels}}}[30s])))")
        check(native is not None and 0 < native < 1, f"{metric}: native median {native}")
        classic = prometheus.value(f"histogram_quantile(0.5, sum by (le) (rate({metric}_bucket{{{labels}}}[30s])))")
        check(classic is not None and 0 < classic < 1, f"{metric}: classic median {classic}")
        counts = [prometheus.value(expression) for expression in (
            f"histogram_count({metric}{{{labels}}})", f"{metric}_count{{{labels}}}")]
        check(counts[0] == counts[1] and counts[0] > 0, f"{metric}: native and classic have counted {counts}")
        now = time.time()
        # Prometheus 2.53 keeps them with the buckets
        stored = prometheus.ask("query_exemplars", query=f"{{__name__=~'{metric}(_bucket)?',{labels}}}", start=now - 120, end=now)
        marked = [exemplar for one in stored for exemplar in one["exemplars"]]
        check(marked and all(exemplar["labels"]["sequence"].isdigit() for exemplar in marked), f"{metric}: exemplars {stored}")
        print(f"{metric}: median {native * 1e6:.1f} µs (native), {classic * 1e6:.1f} µs (classic), {counts[0]:.0f} delays")


def queries(dashboard):
    for panel in dashboard["panels"]:
        for inner in [panel, *panel.get("panels", [])]:
            for target in inner.get("targets", []):
                yield inner["title"], target["expr"]


def dashboard(prometheus):
    """Each query of each panel has data; what the dashboard says of its form is what Grafana's classic schema says."""
    told = json.loads(pathlib.Path("packaging/grafana/wirestamp.json").read_text(encoding="utf-8"))
    ids = [panel["id"] for panel in told["panels"]]
    check(len(ids) == len(set(ids)), "dashboard: an id is there twice")
    text = json.dumps(told)
    check(set(re.findall(r'"uid": "([^"]*)"', text)) == {"${datasource}", told["uid"]}, "dashboard: a data source of its own")
    for panel in told["panels"]:
        place = panel["gridPos"]
        check(place["x"] + place["w"] <= 24, f"dashboard: {panel['title']} is too wide")
    for variable in told["templating"]["list"]:
        if variable["type"] == "query":
            series, label = re.fullmatch(r"label_values\((.*), (\w+)\)", variable["definition"]).groups()
            found = prometheus.query(f'count by ({label}) ({series.replace("$instance", ".*")})')
            check(found and all(label in one["metric"] for one in found), f"dashboard: nothing to choose for {variable['name']}")
    count, now = 0, time.time()
    for title, expression in queries(told):
        for name, value in (("$__rate_interval", "30s"), ("$instance", ".*"), ("$peer", ".*")):
            expression = expression.replace(name, value)
        assert "$" not in expression, expression
        found = prometheus.ask("query_range", query=expression, start=now - 15, end=now, step=1)["result"]
        # a histogram's values are objects
        numbers = [value for one in found for _, value in one.get("values", one.get("histograms", []))]
        usable = [value for value in numbers if isinstance(value, dict) or math.isfinite(float(value))]
        check(usable, f"dashboard: no data for {title}: {expression}")
        count += 1
    print(f"dashboard: {count} queries, all with data")


def rules(prometheus):
    groups = prometheus.ask("rules")["groups"]
    told = {rule["name"]: rule for group in groups for rule in group["rules"]}
    shipped = set(re.findall(r"- (?:alert|record): (\S+)", pathlib.Path("packaging/prometheus/wirestamp.rules.yml").read_text()))
    check(set(told) == shipped, f"rules: {set(told) ^ shipped}")
    for name, rule in told.items():
        check(rule["health"] == "ok", f"rules: {name}: {rule.get('lastError')}")
    empty = [name for name in shipped if ":" in name and not prometheus.query(name)]
    check(not empty, f"rules: nothing is recorded for {empty}")
    print(f"rules: {len(told)} evaluated")


class VictoriaMetrics:
    """Another server, which scrapes, and which the monitor pushes to."""

    def __init__(self, stack, folder):
        (folder / "victoria.yml").write_text(
            'scrape_configs:\n  - job_name: wirestamp\n    scrape_interval: 1s\n    static_configs: [{targets: ["127.0.0.1:9862"]}]\n')
        stack.enter_context(running(
            "victoria-metrics", f"-storageDataPath={folder}/victoria", "-httpListenAddr=127.0.0.1:8428", f"-promscrape.config={folder}/victoria.yml",
            "-search.latencyOffset=1s", "-memory.allowedBytes=64MiB", "-opentelemetry.usePrometheusNaming"))

    def query(self, expression):
        with contextlib.suppress(OSError):
            return json.loads(fetch("http://127.0.0.1:8428/api/v1/query?" + urllib.parse.urlencode({"query": expression}))[0])["data"]["result"]
        return []

    def number(self, expression):
        found = self.query(expression)
        return float(found[0]["value"][1]) if len(found) == 1 else None


SCRAPED, PUSHED = 'job="wirestamp"', 'host_name="m"'


def scrapes(victoria, text):
    """What it scrapes has every series of the text, and classic histograms alone."""
    until("VictoriaMetrics has scraped", lambda: victoria.query("count_over_time(wirestamp_monitor_uptime_seconds{%s}[1m]) > 10" % SCRAPED))
    wanted = {sample.name for family in text_string_to_metric_families(text) for sample in family.samples}
    found = {one["metric"]["__name__"] for one in victoria.query('{__name__=~"wirestamp_.+",%s}' % SCRAPED)}
    check(found == wanted, f"VictoriaMetrics: {found ^ wanted}")
    mean = victoria.number('rate(wirestamp_stamp_delay_seconds_sum{segment="path",%s}[10s]) / rate(wirestamp_stamp_delay_seconds_count{segment="path",%s}[10s])' % (SCRAPED, SCRAPED))
    check(mean and 0 < mean < 1, f"VictoriaMetrics: mean delay {mean}")
    print(f"VictoriaMetrics: {len(found)} metrics scraped")
    return wanted


def pushes(victoria, scraped, reflector):
    """What is pushed by OTLP has the names of what is scraped, and the same values: the reflector sleeps meanwhile, so that they stand still."""
    until("VictoriaMetrics has pushes", lambda: victoria.query("count_over_time(wirestamp_monitor_uptime_seconds{%s}[1m]) > 10" % PUSHED))
    names = {one["metric"]["__name__"] for one in victoria.query('{__name__=~"wirestamp_.+",%s}' % PUSHED)}
    check(names == scraped, f"OTLP: {names ^ scraped}")
    labels = 'peer="t",%s'
    wanted = {
        "gauge": "wirestamp_stamp_path_delay_seconds{%s}" % labels,
        "counter": "wirestamp_stamp_answered_total{%s}" % labels,
        "count of a histogram": 'wirestamp_stamp_delay_seconds_count{segment="path",%s}' % labels,
        "sum of a histogram": 'wirestamp_stamp_delay_seconds_sum{segment="path",%s}' % labels,
    }
    reflector.send_signal(signal.SIGSTOP)
    try:
        # what is under way is judged 2 s after it was sent, and both servers need to hear of it: more so where others are at work
        time.sleep(6)
        told = lambda: {what: [victoria.number(expression % whose) for whose in (PUSHED, SCRAPED)] for what, expression in wanted.items()}
        is_same = lambda there, here: there is not None and here is not None and there > 0 and math.isclose(there, here, rel_tol=1e-12)
        patience, found = time.monotonic() + 30, told()
        while not all(is_same(*both) for both in found.values()) and time.monotonic() < patience:
            time.sleep(1)
            found = told()
        for what, (there, here) in found.items():
            check(is_same(there, here), f"OTLP: {what}: {there} pushed, {here} scraped")
            print(f"OTLP: {what}: {there} pushed, {here} scraped")
        buckets = victoria.number("sum(wirestamp_stamp_delay_seconds_bucket{segment=\"path\",%s})" % (labels % PUSHED))
        count = victoria.number(wanted["count of a histogram"] % PUSHED)
        check(buckets == count, f"OTLP: {buckets} in the histogram's buckets, {count} in all")
    finally:
        reflector.send_signal(signal.SIGCONT)


def main():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="wirestamp-monitor-"))
    judges_notice_faults()
    with contextlib.ExitStack() as stack:
        here, there = stack.enter_context(two_hosts())
        stack.enter_context(chronyd(folder / "chrony", there))
        (folder / "t.toml").write_text('[clocks]\ninterfaces = []\n[reflector]\nlisten = ["10.77.0.2:862"]\n')
        (folder / "m.toml").write_text(MONITOR.replace("HISTORY", str(folder / "history")))
        (folder / "sim.toml").write_text(SIMULATED)
        log = stack.enter_context(open(folder / "log", "w", encoding="utf-8"))
        programs = []
        for namespace, *command in (
            (there, "ptp", "p0", "--ipv6", "--transmit", "--source", "software", "--announce", "125ms", "--sync", "125ms", "--for", "300s"),
            (there, "monitor", "--config", folder / "t.toml"),
            (here, "monitor", "--config", folder / "m.toml"),
            (here, "--sim", "igc", "monitor", "--config", folder / "sim.toml"),
        ):
            programs.append(stack.enter_context(running(*inside(namespace, WIRESTAMP, *command), stderr=log)))
        enter(here)
        victoria = VictoriaMetrics(stack, folder)
        configuration = page_block("guide/monitor-metrics.md", "yaml").replace("15s", "1s\n  evaluation_interval: 1s")
        assert '["127.0.0.1:9862"]' in configuration
        configuration = configuration.replace('["127.0.0.1:9862"]', '["127.0.0.1:9862", "127.0.0.1:9863"]')
        shipped = pathlib.Path("packaging/prometheus/wirestamp.rules.yml").read_text()
        prometheus = Prometheus(stack, folder / "prometheus", configuration, shipped)
        until("both monitors are scraped", lambda: prometheus.has_all("up", 2))
        until("every task runs", lambda: prometheus.query("wirestamp_task_up") and not prometheus.query("wirestamp_task_up == 0"))
        until("PTP measures", lambda: prometheus.query("wirestamp_ptp_offset_seconds"))
        until("the NIC's clock is correlated", lambda: prometheus.query('wirestamp_clock_frequency_offset_ratios{clock="sim0"}'))
        time.sleep(15)
        judge("this system", "http://127.0.0.1:9862")
        judge(SIMULATED_HOST, "http://127.0.0.1:9863")
        scraped = scrapes(victoria, fetch("http://127.0.0.1:9862/metrics", "application/openmetrics-text")[0].decode())
        pushes(victoria, scraped, programs[1])
        histograms(prometheus)
        dashboard(prometheus)
        rules(prometheus)
        dropped = prometheus.query('{__name__=~"prometheus_target_scrapes_(exceeded|sample).*"} > 0')
        check(not dropped, f"Prometheus dropped samples: {dropped}")
        warnings = prometheus.log.read_text()
        check(not warnings, f"Prometheus warned: {warnings[:500]}")
    if FAILURES:
        sys.exit(f"{len(FAILURES)} failures; logs are in {folder}")
    subprocess.run(["rm", "-r", folder], check=True)
    print("passed")


main()
