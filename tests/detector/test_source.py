"""Which source of a detector counts as unread."""

from datetime import datetime, timedelta
from typing import cast

import pytest

from detector.feeds.source import Source, first_unread, unread
from health.gate.check_holds import UnreadSource
from tests.support.values.builders import NOW

LIMIT = timedelta(seconds=5)
REFUSED = "GET /api/v1/nodes was answered 403 Forbidden"


class Watched:
    """A source that was read completely and then confirmed, unless `of_age` is None."""

    is_served = True
    unproven_since: datetime | None = NOW

    def __init__(self, of_age: timedelta | None, name: str = "nodes", problem: str = "") -> None:
        self._age, self.name, self.problem = of_age, name, problem
        self.synced = of_age is not None

    def age(self) -> timedelta | None:
        return self._age


def watched(of_age: timedelta | None, name: str = "nodes", problem: str = "") -> Source:
    return cast("Source", Watched(of_age, name, problem))


@pytest.mark.rule("rule 3")
@pytest.mark.parametrize(
    ("age", "is_unread"),
    [
        (timedelta(), False),
        (LIMIT, False),
        (LIMIT + timedelta(microseconds=1), True),
        (None, True),
    ],
    ids=["new", "exactly as old as it may be", "an instant too old", "never complete"],
)
def test_source_is_unread_once_it_is_too_old(age: timedelta | None, *, is_unread: bool) -> None:
    assert (unread(watched(age), LIMIT) is not None) == is_unread


def test_first_source_that_cannot_be_read_is_named_with_its_error_and_since_when() -> None:
    sources = (watched(timedelta(), "checks"), watched(None, "nodes", REFUSED), watched(None, "machines"))
    assert first_unread(sources, LIMIT) == UnreadSource("nodes", REFUSED, NOW)
    assert first_unread(sources[:1], LIMIT) is None
