"""Strategies for what the wire can carry: times near the ends of the calendar, numbers, lost fields."""

import copy
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from hypothesis import strategies as st

ENDS = (
    datetime.min.replace(tzinfo=UTC),
    datetime.min.replace(tzinfo=timezone(timedelta(hours=14))),
    datetime(1970, 1, 1, tzinfo=UTC),
    datetime.max.replace(tzinfo=UTC),
    datetime.max.replace(tzinfo=timezone(-timedelta(hours=12))),
)
ZONES = st.sampled_from([UTC, timezone(timedelta(hours=14)), timezone(-timedelta(hours=12))])
TIMES = st.sampled_from(ENDS) | st.datetimes(timezones=ZONES)
NUMBERS = st.floats(allow_nan=False) | st.sampled_from([0.0, -1.0, 60.0, 1e308, float("inf"), -float("inf")])
COUNTS = st.integers() | st.sampled_from([0, 1, 2**31 - 1, -(2**63), 10**400])
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)  # JSON has no half of a character

_STRINGS = (
    "9999-12-31T23:59:59Z",
    "0001-01-01T00:00:00Z",
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59-12:00",
    "0000-00-00T00:00:00Z",
    "2026-03-01T12:00:60Z",
    "2026-03-01T12:00:00",
    "99999999999h",
    "2562047h47m16.854775807s",
    "9" * 5000,
    "9" * 5000 + "h",
    "9" * 400 + ".9h",
    "100%",
    "٣%",  # digits, but not those of ASCII
    "-1",
    "NaN",
    "Infinity",
    "",
    "\x00",
    "\U0001f691" * 300,
    "a/b",
    "..",
)
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    COUNTS,
    NUMBERS,
    TEXTS,
    st.sampled_from(_STRINGS),
    st.sampled_from([[], {}, [None], [[]], {"a": None}, [{}], {"": {}}]),
)

_Path = tuple[str | int, ...]


def _paths(value: Any, path: _Path = ()) -> list[_Path]:
    """Where each part of a JSON value is, the whole left out."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for key, part in parts for found in ((*path, key), *_paths(part, (*path, key)))]


@st.composite
def mutated(draw: st.DrawFn, valid: Mapping[str, Any]) -> dict[str, Any]:
    """`valid` with some of its parts dropped, or replaced by something that may not stand there."""
    whole = copy.deepcopy(dict(valid))
    for _ in range(draw(st.integers(1, 3))):
        places = _paths(whole)
        if places:
            _change(draw, whole, draw(st.sampled_from(places)))
    return whole


def _change(draw: st.DrawFn, whole: Any, path: _Path) -> None:
    for part in path[:-1]:
        whole = whole[part]
    if draw(st.booleans()):
        whole[path[-1]] = copy.deepcopy(draw(VALUES))  # the next change may be within it
    else:
        del whole[path[-1]]


def sometimes(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy
