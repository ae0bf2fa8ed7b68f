"""Answers in parts, one a bucket, each complete or absent: a run that was interrupted goes on where it was."""

import hashlib
import json
import pathlib

import pyarrow as pa
import pyarrow.parquet as parquet

from . import checked, store
from .schema import VERSION

INPUTS = b"wirestamp.inputs"


def write(running, place, most, packets, progress):
    """How many parts there are, and how many of them were there already."""
    place = pathlib.Path(place)
    buckets = running.buckets()
    kept = 0
    for number, (name, found) in enumerate(buckets.items()):
        inputs = _inputs(found, most, packets)
        file = place / f"{name}.parquet"
        if _written_from(file) == inputs:
            kept += 1
        else:
            store.write_file(running.part(found, most, packets), file, {INPUTS: inputs})
        progress((number + 1) / len(buckets))
    for file in place.glob("bucket=*.parquet"):
        if file.stem not in buckets:
            file.unlink()
    return len(buckets), kept


def _inputs(found, most, packets):
    """Changes with every file and every option that the answer depends on."""
    files = [[path, *checked.key(pathlib.Path(path))] for path in found]
    return hashlib.sha256(json.dumps([VERSION, most, packets, files]).encode()).hexdigest().encode()


def _written_from(file):
    try:
        return (parquet.read_metadata(file).metadata or {}).get(INPUTS)
    except (pa.ArrowException, OSError):
        return None
