"""Which files were read whole before and found good: each is decoded once, not before every question."""

import json
import os
import pathlib
import uuid

NAME = ".wirestamp-checked.json"


def key(path):
    """What a file must still have to be the same: it is never written again under its name."""
    now = path.stat()
    return [now.st_size, now.st_mtime_ns]


def read(folder):
    """Keys of good files by their place below the folder. What cannot be read is forgotten."""
    try:
        found = json.loads((pathlib.Path(folder) / NAME).read_text())
        return found if isinstance(found, dict) else {}
    except (OSError, ValueError):
        return {}


def write(folder, good):
    """Complete or absent. A folder that cannot be written is checked again the next time."""
    draft = pathlib.Path(folder) / f".wirestamp-{uuid.uuid4().hex}.part"
    try:
        draft.write_text(json.dumps(good))
        os.replace(draft, draft.with_name(NAME))
    except OSError:
        draft.unlink(missing_ok=True)
