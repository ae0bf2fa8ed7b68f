"""Work on several threads, with the answers in the order of what is worked on."""

import collections
import concurrent.futures


def in_order(work, some, at_a_time, most):
    """What a function gives for each, so many at a time. At most so many are read ahead of the one that is given, answers or not yet."""
    waiting = collections.deque()
    with concurrent.futures.ThreadPoolExecutor(at_a_time) as threads:
        try:
            for each in some:
                waiting.append(threads.submit(work, each))
                if len(waiting) > most:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            threads.shutdown(cancel_futures=True)
