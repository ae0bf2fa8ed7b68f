"""Which files were read whole before and found good: each is decoded once, not before every question."""

import contextlib
import json
import os
import uuid


def read(place):
    """Keys of good files by their names below the place. What cannot be read is forgotten."""
    try:
        found = json.loads(place.checked.read_text())
        return found if isinstance(found, dict) else {}
    except (OSError, ValueError):
        return {}


def write(place, good):
    """Complete or absent. Where it cannot be written, files are checked again the next time."""
    draft = place.checked.with_name(f".wirestamp-{uuid.uuid4().hex}.part")
    try:
        draft.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(json.dumps(good))
        os.replace(draft, place.checked)
    except OSError:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
