"""Ctrl-C ends the program within a moment, also while an engine computes and Python does not run. What would be left behind is removed."""

import contextlib
import os
import pathlib
import shutil
import signal
import threading

GRACE = 0.5
"""Seconds in which what is interrupted can end by itself."""
CODE = 130
left = set()
"""Folders and files to remove."""


@contextlib.contextmanager
def ends_at_once():
    """For a whole command, in the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    read, write = os.pipe()
    os.set_blocking(write, False)
    before, over = signal.set_wakeup_fd(write, warn_on_full_buffer=False), threading.Event()
    watching = threading.Thread(target=_watch, args=(read, over), daemon=True)
    watching.start()
    try:
        yield
    finally:
        over.set()
        signal.set_wakeup_fd(before)
        os.write(write, b"\0")
        watching.join()
        os.close(read)
        os.close(write)


def _watch(read, over):
    while not over.is_set():
        # the kernel's handler writes the number of the signal here, whatever the main thread does
        if os.read(read, 1)[0] == signal.SIGINT and not over.wait(GRACE):
            for place in map(pathlib.Path, list(left)):
                shutil.rmtree(place, ignore_errors=True) if place.is_dir() else place.unlink(missing_ok=True)
            os._exit(CODE)
