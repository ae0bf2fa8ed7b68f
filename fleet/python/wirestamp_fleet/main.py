"""The command line."""

import argparse
import contextlib
import itertools
import os
import pathlib
import re
import sys
import tempfile

import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as parquet

from . import answers, compact, engine, interrupted, parts, places, progress, report, scope, simulate, store, writing
from .kernel import MOST, Options


SHOWN = 40
"""Rows of a table on a terminal."""
KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")


def main(arguments=None):
    chosen = _parser().parse_args(arguments)
    # the one that Arrow brings keeps what was freed
    pa.set_memory_pool(pa.system_memory_pool())
    try:
        with interrupted.ends_at_once():
            return chosen.run(chosen) or 0
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    except (store.Refused, pa.ArrowException, OSError) as error:
        print(f"error: {_without_keys(str(error))}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return interrupted.CODE


def _parser():
    parser = argparse.ArgumentParser(prog="wirestamp-fleet", description=__import__("wirestamp_fleet").__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name, run, text, reads=True, times=False):
        added = commands.add_parser(name, help=text, description=text)
        added.set_defaults(run=run)
        where = "folder of the recordings" + (", or s3://BUCKET/PREFIX" if reads else "")
        added.add_argument("folder", metavar="DIR", help=where)
        if reads:
            added.add_argument("--only", type=_only, metavar="PART", help="only what is stored in this part: day=2026-11-23, day=2026-11-23/hour=06")
            if times:
                added.add_argument("--from", dest="first", type=_time, metavar="TIME", help="only what is of this time of UTC or later: 2026-11-23T06:30")
                added.add_argument("--until", dest="last", type=_time, metavar="TIME", help="only what is before this time of UTC")
            added.add_argument("--memory", default="4GB", help="hold at most so much, then spill to disk (default: 4GB)")
            added.add_argument("--skip-unusable", action="store_true", help="pass over damaged files and other versions; each is named")
            added.add_argument("--spark", metavar="MASTER", help="run on Spark: local[2], spark://HOST:PORT, yarn, or configured: what spark-submit or spark-defaults.conf says")
        return added

    simulated = command("simulate", _simulate, "Write a simulated fleet and its truth into a new folder", reads=False)
    for name, value in vars(simulate.Fleet()).items():
        simulated.add_argument(f"--{name}", type=_count, default=value, metavar="N", help=f"default: {value}")
    clocks = command("clocks", _clocks, "Bound and estimate every host's clock in each window, and name hosts that contradict the others", times=True)
    _assumptions(clocks)
    _output(clocks)
    clocks.add_argument("--summary", action="store_true", help="the worst hosts as text, as on a terminal")
    latency = command("latency", _latency, "One-way delays of each flow: packets sent, missing, duplicate, reordered")
    latency.add_argument("--most", type=_count, default=10**9, metavar="NS", help="no packet takes longer (default: 1 s); sequence numbers may repeat after that")
    latency.add_argument("--packets", action="store_true", help="a row for each packet instead of each flow")
    _output(latency)
    query = command("query", _query, 'Run SQL on the tables timestamps, "cross", estimates and probes (cross is a word of SQL: quote it)', times=True)
    query.add_argument("sql", metavar="SQL")
    _output(query)
    command("compact", _compact, "Merge the small files of each folder, and remove drafts that were left behind", reads=False)
    reported = command("report", _report, "Write one HTML file: worst hosts, clock map, timeline, delays")
    _assumptions(reported)
    reported.add_argument("--output", "-o", default="report.html", metavar="FILE", help="default: report.html")
    return parser


def _assumptions(parser):
    parser.add_argument("--reference", metavar="HOST", help="offsets against this host's clock; without it, against UTC as the hosts claim it")
    parser.add_argument("--least-delay", type=_count, default=0, metavar="NS", help="no packet takes less (default: 0)")
    parser.add_argument("--delays", metavar="FILE", help="least delays of links: columns host, peer, forward, backward (Parquet or CSV)")
    parser.add_argument("--drift-ppb", type=_count, default=100, metavar="PPB", help="a clock's frequency is off by less (default: 100)")
    parser.add_argument("--timestamp-error", type=_count, default=50, metavar="NS", help="transmit and receive timestamps are off by less (default: 50)")


def _output(parser):
    parser.add_argument("--output", "-o", type=_file, metavar="FILE", help="write Parquet or CSV, by the name's ending; without it, a table or JSON lines in a pipe. latency: a folder (DIR/) takes a file for each bucket, and a run that was interrupted goes on there")


def _count(text):
    number = int(text)
    if not 0 <= number < 2**53:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 2^53")
    return number


def _file(text):
    if not text.endswith((".parquet", ".csv", "/")) and not pathlib.Path(text).is_dir():
        raise argparse.ArgumentTypeError(f"{text} ends neither in .parquet nor in .csv")
    return text


def _only(text):
    if not re.fullmatch(r"day=\d{4}-\d\d-\d\d(/hour=\d\d(/bucket=\d\d)?)?", text):
        raise argparse.ArgumentTypeError(f"{text} is no part: day=2026-11-23, day=2026-11-23/hour=06 or day=2026-11-23/hour=06/bucket=07")
    return text


def _time(text):
    try:
        return scope.time(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text} is no time between 1970 and 2262: 2026-11-23T06:30, or nanoseconds since 1970 with 16 digits or more") from None


def _scope(chosen):
    first, last = getattr(chosen, "first", None), getattr(chosen, "last", None)
    if chosen.only and (first is not None or last is not None):
        raise store.Refused("--only names folders, --from and --until a time: use one of both")
    if first is not None and last is not None and first >= last:
        raise store.Refused("--from is not before --until")
    return scope.Scope(chosen.only or "", first, last)


def _without_keys(text):
    """A store's client repeats no keys as far as we know; if one does, they are not shown."""
    for key in filter(None, map(os.environ.get, KEYS)):
        text = text.replace(key, "…")
    return text


def _here(what, place, remedy):
    """What is written is a file of this machine."""
    if places.is_url(place):
        raise store.Refused(f"{what} writes, and object stores are only read: {remedy}")


def _engine(chosen):
    _here("--output", getattr(chosen, "output", None), "name a file here, and copy it")
    if chosen.spark:
        return engine.Spark(chosen.folder, chosen.spark, chosen.skip_unusable, _scope(chosen), progress.here())
    return engine.Duck(chosen.folder, chosen.memory, chosen.skip_unusable, _scope(chosen), progress.here())


def _options(chosen):
    delays = _delays(chosen.delays) if chosen.delays else None
    return Options(chosen.reference, chosen.least_delay, delays, chosen.drift_ppb, chosen.timestamp_error)


def _delays(place):
    """For host and peer, the least delays in both directions."""
    try:
        rows = csv.read_csv(place) if place.endswith(".csv") else parquet.ParquetFile(place).read()
        columns = [rows[name].to_pylist() for name in ("host", "peer", "forward", "backward")]
    except (OSError, ValueError, KeyError) as error:
        raise store.Refused(f"{place}: {error}") from error
    for number, (host, peer, *both) in enumerate(zip(*columns, strict=True), 1):
        if not (isinstance(host, str) and isinstance(peer, str) and all(isinstance(one, int) and 0 <= one <= MOST for one in both)):
            raise store.Refused(f"{place}: row {number} is not two hosts and two delays of 0 to {MOST} ns")
    return {(host, peer): (forward, backward) for host, peer, forward, backward in zip(*columns, strict=True)}


def _simulate(chosen):
    _here("simulate", chosen.folder, "simulate into a folder, and copy that")
    fleet = simulate.Fleet(**{name: getattr(chosen, name) for name in vars(simulate.Fleet())})
    if fleet.hosts < 2 or not fleet.links or not fleet.windows or not fleet.probes:
        raise store.Refused("a fleet has two hosts, a link, a window and a probe at least")
    described = simulate.run(chosen.folder, fleet, progress.here()("simulate"))
    print(f"{fleet.hosts} hosts, {fleet.windows} windows of 1 s in {chosen.folder}; the truth is in {chosen.folder}/truth")
    for host, kind in described["wrong_hosts"].items():
        print(f"  wrong: {host} ({kind})")


def _clocks(chosen):
    running, options = _engine(chosen), _options(chosen)
    _known(running, options.reference)
    clocks = lambda: _not_empty(running.clocks(options), f"{chosen.folder}: no probes")
    if chosen.output or not (chosen.summary or sys.stdout.isatty()):
        return _show(clocks, chosen.output)
    print(store.terminal(report.summary(_again(lambda: report.Hosts(clocks())))))


def _known(running, reference):
    """Refuses a reference that no probe names: no window would have an answer."""
    if reference is not None:
        name = running.quoted(reference)
        if not running.sql(f"SELECT host FROM probes WHERE host = {name} OR peer = {name} LIMIT 1").num_rows:
            raise store.Refused(f"--reference {reference}: no probes of or to such a host")


def _not_empty(rows, otherwise):
    """A reader that has a row, or an error."""
    for first in rows:
        if first.num_rows:
            return pa.RecordBatchReader.from_batches(rows.schema, itertools.chain([first], rows))
    raise store.Refused(otherwise)


def _again(ask):
    """Asks once more if a file was removed meanwhile that may be left out."""
    while True:
        with contextlib.suppress(store.Again):
            return ask()


def _latency(chosen):
    running = _engine(chosen)
    if chosen.output and (chosen.output.endswith("/") or pathlib.Path(chosen.output).is_dir()):
        if chosen.spark:
            raise store.Refused("parts in a folder are the embedded engine's: with --spark, name a file")
        count, kept = _again(lambda: parts.write(running, chosen.output, chosen.most, chosen.packets))
        print(f"{count} parts in {chosen.output}, {kept} of them from an earlier run")
        return
    rows = lambda: running.packets(chosen.most) if chosen.packets else running.flows(chosen.most).to_reader()
    _show(lambda: _not_empty(rows(), f"{chosen.folder}: no transmit timestamps whose UTC is known"), chosen.output)


def _query(chosen):
    running = _engine(chosen)
    _show(lambda: running.stream(chosen.sql), chosen.output)


def _compact(chosen):
    _here("compact", chosen.folder, "compact the folder before it is copied there")
    done = compact.run(chosen.folder, progress.here()("compact"))
    print(f"{done.before} files are now {done.after}; {done.drafts} drafts removed" + f"; {done.left} left as they are" * (done.left > 0))


def _report(chosen):
    running, options = _engine(chosen), _options(chosen)
    _known(running, options.reference)
    with tempfile.TemporaryDirectory(prefix="wirestamp-fleet-") as work:
        interrupted.left.add(work)
        file = _again(lambda: writing.write_file(writing.large(running.clocks(options)), pathlib.Path(work) / "clocks.parquet"))
        page = report.page(lambda: parquet.ParquetFile(file).iter_batches(), running.flows(10**9), engine.claimed(running, 0, 0), _assumed(chosen))
    with writing.draft(pathlib.Path(chosen.output)) as place:
        place.write_text(page, encoding="utf-8")
    print(f"{pathlib.Path(chosen.output).resolve()}: {len(page) // 1024 + 1} kB")


def _assumed(chosen):
    """What the bounds rest on, as people read it."""
    reference = f"Offsets are against the clock of {chosen.reference}." if chosen.reference else "Offsets are against UTC, as the hosts claim it."
    delays = f"those of {chosen.delays}, others " if chosen.delays else ""
    span = report.span
    return (
        reference,
        f"Assumed: no packet takes less than {delays}{span(chosen.least_delay)} (--least-delay), frequencies are off by less than {chosen.drift_ppb} ppb (--drift-ppb),"
        f" timestamps by less than {span(chosen.timestamp_error)} on each side (--timestamp-error).",
    )


def _show(ask, output):
    """Writes the answer as it comes. `ask`: begins it."""
    if output:
        _again(lambda: _write(ask(), output))
    elif sys.stdout.isatty():
        _again(lambda: _print_table(ask()))
    else:
        for batch in _again_at_first(ask):
            for row in batch.to_pylist():
                print(answers.line(row))


def _write(rows, output):
    answers.distinct(rows.schema)
    if output.endswith(".csv"):
        with writing.draft(pathlib.Path(output)) as place, csv.CSVWriter(place, rows.schema) as writer:
            for batch in rows:
                writer.write_batch(batch)
    else:
        writing.write_file(writing.large(rows), output)


def _again_at_first(ask):
    """The batches; asks once more for a removed file as long as nothing was given away."""
    while True:
        begun = False
        try:
            rows = ask()
            answers.distinct(rows.schema)
            for batch in rows:
                yield batch
                begun = True
            return
        except store.Again:
            if begun:
                raise


def _print_table(rows):
    held, count = [], 0
    for batch in rows:
        held += [batch.slice(0, max(SHOWN - count, 0))]
        count += batch.num_rows
    print(store.terminal(report.table(pa.Table.from_batches(held, rows.schema))))
    if count > SHOWN:
        print(f"{count} rows; --output FILE writes all of them")
