"""How far a long command is: a line on a terminal that is drawn anew, four times a second."""

import contextlib
import sys
import threading
import time

EVERY = 0.25


def silent(name):
    """Shows nothing."""
    return lambda done: None


class Terminal:
    """Bars on standard error. What is done in parts has one, not one for each part."""

    def __init__(self):
        self._busy = False

    def __call__(self, name):
        """A bar, which is drawn if the work takes longer than a moment. The function that it returns is told what is done, 1 at last."""
        if self._busy:
            return silent(name)
        self._busy, last, drawn = True, time.monotonic(), False

        def show(done):
            nonlocal last, drawn
            self._busy = done < 1
            if drawn if done >= 1 else time.monotonic() - last > EVERY:
                last, drawn = time.monotonic(), True
                end = "\n" if done >= 1 else ""
                print(f"\r{name} {'█' * round(done * 30):30} {done:4.0%}", end=end, file=sys.stderr, flush=True)

        return show


def here():
    """Bars if there is a terminal to draw them on."""
    return Terminal() if sys.stderr.isatty() else silent


@contextlib.contextmanager
def asked(progress, name, percent):
    """A bar for what says itself how far it is, in percent; negative: it does not know."""
    if progress is silent:
        yield
        return
    show, over = progress(name), threading.Event()

    def ask():
        while not over.wait(EVERY):
            show(min(max(percent(), 0), 99) / 100)

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    try:
        yield
    finally:
        over.set()
        asking.join()
        show(1)
