"""The user's cache: for what can be made again from recordings. Nobody else reads it, and what is unused for long is removed."""

import contextlib
import os
import pathlib
import time

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

UNUSED = 7 * 86_400
"""Seconds after which a segment that nobody asked for is removed."""
OLD = 86_400
"""The same for drafts, which a killed run leaves behind."""


def folder():
    """This user's folder for what can be made again; None if it cannot be made, or if others may write into it. Nobody else reads it."""
    try:
        place = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "wirestamp-fleet"
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        known = place.stat()
        if hasattr(os, "getuid"):
            if known.st_uid != os.getuid() or known.st_mode & 0o022:
                return None
            if known.st_mode & 0o077:
                place.chmod(0o700)
        return place
    except (OSError, RuntimeError):
        return None


class Lock:
    """While it lives, no other run removes segments of a table: somebody may be reading them."""

    def __init__(self, folder):
        self._file, self._is_alone = None, False
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            self._file = os.open(folder / ".lock", os.O_WRONLY | os.O_CREAT, 0o600)
            os.utime(folder / ".lock")
        if self.is_open and fcntl is not None:
            self._is_alone = self._holds(fcntl.LOCK_EX | fcntl.LOCK_NB) or not self._holds(fcntl.LOCK_SH)

    @property
    def is_open(self):
        return self._file is not None

    def remove_and_share(self, paths):
        """Removes segments that are of no use, unless another run has a lock: then the next one does."""
        if self._is_alone:
            for path in paths:
                with contextlib.suppress(OSError):
                    path.unlink()
            self._holds(fcntl.LOCK_SH)
            self._is_alone = False

    def _holds(self, how):
        try:
            fcntl.flock(self._file, how)
            return True
        except OSError:
            return False

    def __del__(self):
        if self.is_open:
            os.close(self._file)


def remove_unused(place):
    """Removes segments and locks of all folders that nobody asked for lately, such as those of recordings that are gone or merged; and old drafts."""
    for below, _, names in os.walk(place, topdown=False):
        if pathlib.Path(below) == place:
            continue  # what is known of object stores
        for path in (os.path.join(below, name) for name in names):
            with contextlib.suppress(OSError):
                if time.time() - os.lstat(path).st_mtime > (OLD if path.endswith(".part") else UNUSED):
                    os.unlink(path)
        with contextlib.suppress(OSError):  # there is something in it
            os.rmdir(below)
