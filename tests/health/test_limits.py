"""How many remediations may be under way and begin, and who waits longest goes first."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from health.gate.limits import Limits, Remediation, Scope, Tally, Waiting, next_in_line
from health.model.observation import Hold
from health.model.references import CheckReference
from tests.objects import NOW, limits

pytestmark = pytest.mark.rule("rule 43")

WORKERS, INFRA = (CheckReference(kind="NodeHealthCheck", name=name) for name in ("workers", "infra"))
MINUTE = timedelta(minutes=1)
ZONE = "topology.kubernetes.io/zone"


def tally(check: Limits | None = None, **policy: Any) -> Tally:
    """What counts nothing yet; `check` are the limits of the check of workers."""

    def scopes_of(reference: CheckReference) -> Iterator[Scope]:
        yield Scope(limits(**policy), "the policy")
        if check is not None and reference == WORKERS:
            yield Scope(check, "the annotations", WORKERS)

    return Tally(scopes_of)


def one(check: CheckReference = WORKERS, zone: str | None = "a") -> Remediation:
    return Remediation(check, {ZONE: zone})


def refusal(counted: Tally, wanted: Remediation) -> Hold | None:
    """Of one that failed a moment ago."""
    return counted.refusal(Waiting(NOW, "last", wanted), NOW)


def words(counted: Tally, wanted: Remediation) -> str:
    hold = refusal(counted, wanted)
    return hold.message if hold else "go"


def test_what_nobody_limited_may_begin() -> None:
    counted = tally()
    for _ in range(100):
        counted.let_go_first(waiting("other", 1))

    assert words(counted, one()) == "go"


def test_refusal_tells_the_numbers() -> None:
    counted = tally(maxInFlight=3)
    counted.count(one())
    counted.count(one(INFRA))
    assert words(counted, one()) == "go"

    counted.count(one())
    assert words(counted, one()) == "3 remediations are under way, at most 3 allowed by the policy"


def test_most_restrictive_limit_wins() -> None:
    counted = tally(limits(maxInFlight=1), maxInFlight=5)
    counted.count(one())

    assert words(counted, one()) == "1 remediation is under way, at most 1 allowed by the annotations"
    assert words(counted, one(INFRA)) == "go"


@pytest.mark.parametrize(
    ("under_way", "wanted", "is_refused"),
    [
        ("a", "a", True),
        ("a", "b", False),
        ("", "", True),
        ("", "a", False),
        (None, "a", True),
        ("a", None, True),
    ],
)
def test_each_value_of_a_label_has_its_own_number(
    under_way: str | None,
    wanted: str | None,
    is_refused: bool,  # noqa: FBT001  a column of the table
) -> None:
    counted = tally(maxInFlightByLabel={ZONE: 1})
    counted.count(one(zone=under_way))

    assert (refusal(counted, one(zone=wanted)) is not None) == is_refused


def test_starts_count_for_an_hour_and_the_hold_ends_with_the_oldest() -> None:
    counted = tally(maxStartsPerHour=2)
    for minutes in (61, 60, 40, 10):
        counted.count_start(WORKERS, NOW - minutes * MINUTE)

    hold = refusal(counted, one())
    assert hold is not None
    assert hold.message == "2 remediations began within the last hour, at most 2 allowed by the policy"
    assert hold.ask_again_seconds == 20 * 60


def waiting(name: str, minutes: int, zone: str = "a") -> Waiting:
    return Waiting(NOW - minutes * MINUTE, name, one(zone=zone))


def test_who_waits_longest_goes_first_and_keeps_nobody_whom_its_limit_does_not_hold() -> None:
    counted = tally(maxInFlight=3, maxInFlightByLabel={ZONE: 1})
    counted.count(one(zone="a"))
    line = [waiting("young", 1, "b"), waiting("held", 9), waiting("c", 2, "c"), waiting("old", 5, "b")]

    assert [each.name for each in next_in_line(line, counted, NOW)] == ["old", "c"]
    assert words(counted, one(zone="d")) == (
        "1 remediation is under way, 2 that wait for longer come first, at most 3 allowed by the policy"
    )
