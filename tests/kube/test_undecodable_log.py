"""The log of objects that do not decode: bounded in lines and in their length, whatever the objects do."""

import logging

from hypothesis import given
from hypothesis import strategies as st

from kube.decoding import Undecodable
from kube.object_store import (
    MOST_LINES_AT_ONCE,
    MOST_NAMED,
    SECONDS_FOR_A_LINE,
    UndecodableLog,
)
from kube.record import Key


class Watched(logging.Handler):
    """A log with a clock that a test sets, and its lines."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 100.0
        self.lines: list[str] = []
        self.log = UndecodableLog("nodes of fleet/east", lambda: self.now)

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())

    def add(self, *names: str) -> None:
        logger = logging.getLogger("kube.object_store")
        logger.addHandler(self)
        try:
            self.log.add([Undecodable(Key("", name), "1", "no time") for name in names])
        finally:
            logger.removeHandler(self)


def test_line_has_the_source_the_first_names_and_the_number_of_the_others() -> None:
    watched = Watched()
    watched.add(*(f"w{number}" for number in range(1000)))
    named = "; ".join(f"w{number}: no time" for number in range(MOST_NAMED))
    assert watched.lines == [
        f"1000 of nodes of fleet/east do not decode and are left out: {named}; and 995 more"
    ]


def test_objects_beyond_the_rate_are_counted_in_the_next_line() -> None:
    watched = Watched()
    for number in range(1000):
        watched.add(f"w{number}")
    assert len(watched.lines) == MOST_LINES_AT_ONCE
    watched.now += SECONDS_FOR_A_LINE
    watched.add("later")
    watched.add("even-later")
    assert watched.lines[MOST_LINES_AT_ONCE:] == [
        "991 of nodes of fleet/east do not decode and are left out: later: no time; and 990 more"
    ]


def test_list_without_new_objects_is_not_logged() -> None:
    watched = Watched()
    watched.add()
    assert watched.lines == []


@given(st.lists(st.tuples(st.floats(0, 60), st.integers(0, 100)), max_size=30))
def test_no_sequence_of_objects_logs_more_lines_than_the_rate(steps: list[tuple[float, int]]) -> None:
    watched, logged = Watched(), 0
    for pause, objects in steps:
        watched.now += pause
        for number in range(objects):
            watched.add(str(number))
        logged += objects
    passed = watched.now - 100
    assert len(watched.lines) <= MOST_LINES_AT_ONCE + passed / SECONDS_FOR_A_LINE
    assert sum(int(line.split()[0]) for line in watched.lines) <= logged
