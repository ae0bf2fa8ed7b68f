"""Answers as JSON lines: each value as both engines have it, and each line as every reader takes it."""

import decimal
import json
import math

from .store import Refused


def distinct(schema):
    """Refuses an answer in which a row would have two values under one name."""
    names = schema.names
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise Refused(f"several columns are named {twice[0]}: give each a name of its own with AS")


def line(row):
    """A row as JSON. What is no number is null there."""
    return json.dumps(_plain(row), ensure_ascii=False, default=str, allow_nan=False)


def _plain(value):
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, decimal.Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return value
