"""Answers in parts, one a bucket, each complete or absent: a run that was interrupted goes on where it was."""

import hashlib
import json
import pathlib

import pyarrow as pa
import pyarrow.parquet as parquet

from . import writing
from .schema import VERSION

INPUTS = b"wirestamp.inputs"


def write(running, place, most, packets):
    """How many parts there are, and how many of them were there already."""
    place = pathlib.Path(place)
    buckets, keys = running.buckets(), running.keys()
    kept, show = 0, running.progress("latency")
    for number, (name, found) in enumerate(buckets.items()):
        inputs = _inputs({name: keys[name] for name in found}, most, packets)
        file = place / f"{name}.parquet"
        if _written_from(file) == inputs:
            kept += 1
        else:
            writing.write_file(running.part(found, most, packets), file, {INPUTS: inputs})
        show((number + 1) / len(buckets))
    for file in place.glob("bucket=*.parquet"):
        if file.stem not in buckets:
            file.unlink()
    return len(buckets), kept


def _inputs(keys, most, packets):
    """Changes with every file and every option that the answer depends on."""
    return hashlib.sha256(json.dumps([VERSION, most, packets, sorted(keys.items())]).encode()).hexdigest().encode()


def _written_from(file):
    try:
        return (parquet.read_metadata(file).metadata or {}).get(INPUTS)
    except (pa.ArrowException, OSError):
        return None
