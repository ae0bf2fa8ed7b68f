"""The list by which an interrupted compaction leaves no row counted twice: which files a merged one replaces."""

import hashlib
import json
import os
import uuid

from . import writing
from .schema import TABLES

LIST = ".wirestamp-merging.json"


def replaced(place, listed=None):
    """Names below a place of files that a merged one holds already: a compaction was killed before it removed them, or is at work. Only this
    program's list counts, and only for the content that it names: what a file says of itself can be of anybody. `listed`: gives the names that are
    read. A merged file that is not one of them replaces nothing."""
    try:
        written = json.loads(place.read(LIST))
        (merged, content), olds = written["merged"], written["replaced"]
        olds = {name: old for name, old in olds.items() if _is_recording(name) and name != merged}
        is_sound = _is_recording(merged)
    except FileNotFoundError:
        return set()
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return set()
    if not is_sound or (listed is not None and merged not in listed()) or content_of(place, merged) != content:
        return set()
    # one that is gone was removed since: whoever remembers its name from before finds its rows in the merged file
    return {name for name, old in olds.items() if content_of(place, name) in (old, None)}


def _is_recording(name):
    parts = name.split("/")
    return parts[0] in TABLES and name.endswith(".parquet") and not {"", ".", ".."} & set(parts)


def content_of(place, name):
    try:
        return hashlib.sha256(place.read(name)).hexdigest()
    except FileNotFoundError:
        return None


def write(place, merged, olds):
    """Complete or absent, and lasting before the merged file has its name."""
    draft = place.root / f".wirestamp-{uuid.uuid4().hex}.part"
    try:
        with open(draft, "w") as file:
            json.dump({"merged": merged, "replaced": olds}, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, place.root / LIST)
    finally:
        draft.unlink(missing_ok=True)
    writing.sync(place.root)
