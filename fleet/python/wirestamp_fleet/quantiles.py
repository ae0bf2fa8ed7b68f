"""SQL's `percentile_disc` for Spark, whose own makes a floating point number of every value: a time in nanoseconds loses its last digits."""

import re

CALL = re.compile(r"'(?:[^'\\]|\\.)*'|\"[^\"]*\"|--[^\n]*|\bpercentile_disc\s*(?=\()", re.IGNORECASE)
ORDER = re.compile(r"\s*WITHIN\s+GROUP\s*(?=\()", re.IGNORECASE)
BY = re.compile(r"\s*ORDER\s+BY\s+(.*?)(?:\s+(ASC|DESC))?\s*", re.IGNORECASE | re.DOTALL)
FILTER = re.compile(r"\s*FILTER\s*(?=\()", re.IGNORECASE)


def exact(statement):
    """The statement with a value that occurred for each `percentile_disc(share) WITHIN GROUP (ORDER BY value)`, with or without FILTER."""
    parts, last = [], 0
    for call in CALL.finditer(statement):
        if call.start() < last or not call.group().lower().startswith("percentile_disc"):
            continue
        if found := _call(statement, call.end()):
            text, end = found
            parts += [statement[last : call.start()], text]
            last = end
    return "".join(parts) + statement[last:]


def _call(statement, place):
    """What stands for the call whose arguments begin here, and where it ends; None if it is none of the kind."""
    share, place = _inside(statement, place)
    order = ORDER.match(statement, place)
    if not order:
        return None
    by, place = _inside(statement, order.end())
    value, direction = BY.fullmatch(by).groups()
    only = FILTER.match(statement, place)
    some = ""
    if only:
        condition, place = _inside(statement, only.end())
        some = f" FILTER ({condition})"
    value = exact(value)
    values = f"array_sort(collect_list({value}){some})"
    if (direction or "").upper() == "DESC":
        values = f"reverse({values})"
    return f"try_element_at({values}, CAST(GREATEST(CEIL(({share}) * COUNT({value}){some}), 1) AS INT))", place


def _inside(statement, place):
    """The text within the parentheses that begin here, and the place behind them."""
    depth, start = 0, place
    for token in re.compile(r"'(?:[^'\\]|\\.)*'|\"[^\"]*\"|[()]").finditer(statement, place):
        depth += {"(": 1, ")": -1}.get(token.group(), 0)
        if depth == 0:
            return statement[start + 1 : token.start()], token.end()
    return statement[start + 1 :], len(statement)
