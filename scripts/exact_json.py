"""Reads the JSON that the program prints: times of day, and integers that are strings because they may exceed 2^53,
become integers (nanoseconds).
"""

import calendar
import json
import time


def loads(text):
    return json.loads(text, object_hook=exact)


def exact(fields):
    for name, value in fields.items():
        if not isinstance(value, str):
            continue
        if name == "time":
            seconds, fraction = value.removesuffix("Z").split(".")
            fields[name] = calendar.timegm(time.strptime(seconds, "%Y-%m-%dT%H:%M:%S")) * 10**9 + int(fraction)
        elif name.endswith("_ns") and "." not in value:
            fields[name] = int(value)
    return fields
