"""How many remediations may be under way and begin, who goes first, and which slots are stuck."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.model.observation import Hold
from health.model.references import CheckReference
from health.policy.limit_usage import LimitUsage, Use
from health.policy.limits import (
    STUCK_AFTER,
    LimitedRemediation,
    Limits,
    LimitScope,
    UnderWay,
    Waiting,
    stuck_slots,
)
from tests.support.values.builders import MINUTE, NOW, limits

pytestmark = pytest.mark.rule("rule 43")

WORKERS, INFRA = (CheckReference(kind="NodeHealthCheck", name=name) for name in ("workers", "infra"))
ZONE = "topology.kubernetes.io/zone"


class Usage:
    """A usage without any count; `check` are the limits of the check of workers."""

    def __init__(self, check: Limits | None = None, **policy: Any) -> None:
        def scopes_of(reference: CheckReference) -> Iterator[LimitScope]:
            yield LimitScope(limits(**policy), "the policy")
            if check is not None and reference == WORKERS:
                yield LimitScope(check, "the annotations", WORKERS)

        self.limits = LimitUsage(scopes_of=lambda reference: tuple(scopes_of(reference)))
        self.targets = 0

    def count(self, remediation: LimitedRemediation, since: datetime = NOW) -> int:
        self.targets += 1
        self.limits.put(self.targets, using(remediation, f"node-{self.targets}", since))
        return self.targets

    def count_starts(self, *began: datetime) -> None:
        self.targets += 1
        self.limits.put(self.targets, Use(check=WORKERS, target=f"node-{self.targets}", starts=began))

    def refusal(self, wanted: LimitedRemediation, *first: Waiting) -> Hold | None:
        """Of one that failed a moment ago, where these wait for longer."""
        selection = self.limits.select(first, NOW)
        refusal = self.limits.refusal(Waiting(NOW, "last", wanted), NOW, selection)
        return refusal.hold if refusal else None

    def words(self, wanted: LimitedRemediation, *first: Waiting) -> str:
        hold = self.refusal(wanted, *first)
        return hold.message if hold else "go"


def one(check: CheckReference = WORKERS, zone: str | None = "a") -> LimitedRemediation:
    return LimitedRemediation(check, {ZONE: zone})


def using(remediation: LimitedRemediation, target: str = "n1", since: datetime = NOW, **use: Any) -> Use:
    return Use(check=remediation.check, target=target, in_flight=UnderWay(target, remediation, since), **use)


def test_remediation_without_limits_may_begin() -> None:
    counted = Usage()
    assert counted.words(one(), *(waiting(str(number), 1) for number in range(100))) == "go"


def test_refusal_tells_the_numbers() -> None:
    counted = Usage(maxInFlight=3)
    counted.count(one())
    counted.count(one(INFRA), NOW - 2 * MINUTE)
    assert counted.words(one()) == "go"

    youngest = counted.count(one())
    words = "3 remediations are under way, at most 3 allowed by the policy"
    oldest = "node-2 of NodeHealthCheck/infra, began at 2026-03-01T11:58:00Z"
    assert counted.words(one()) == f"{words}; the oldest, of {oldest}"

    counted.limits.put(2, Use(check=INFRA, target="node-2"))
    counted.limits.put(youngest, using(one(), "node-3", NOW - MINUTE))
    counted.count(one())
    oldest = "node-3 of NodeHealthCheck/workers, began at 2026-03-01T11:59:00Z"
    assert counted.words(one()) == f"{words}; the oldest, of {oldest}"


def test_refusal_never_names_the_reservation_of_the_target_itself() -> None:
    counted = Usage(maxInFlight=1)
    own = counted.count(one(), NOW - 2 * MINUTE)
    counted.count(one(INFRA), NOW - MINUTE)
    refusal = counted.limits.refusal(Waiting(NOW, "node-1", one()), NOW, besides=own)
    assert refusal is not None
    assert refusal.hold.message.endswith(
        "; the oldest, of node-2 of NodeHealthCheck/infra, began at 2026-03-01T11:59:00Z"
    )


def test_refusal_by_a_label_names_the_oldest_remediation_that_counts_for_its_value() -> None:
    counted = Usage(maxInFlightByLabel={ZONE: 2})
    for zone, minutes in (("a", 9), ("b", 7), (None, 8), ("b", 6)):
        counted.count(one(zone=zone), NOW - minutes * MINUTE)
    assert counted.words(one(zone="b")).endswith(
        "; the oldest, of node-3 of NodeHealthCheck/workers, began at 2026-03-01T11:52:00Z"
    )


def test_most_restrictive_limit_wins() -> None:
    counted = Usage(limits(maxInFlight=1), maxInFlight=5)
    counted.count(one())

    words = "1 remediation is under way, at most 1 allowed by the annotations; the oldest, of node-1 of "
    assert counted.words(one()).startswith(words)
    assert counted.words(one(INFRA)) == "go"


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
    counted = Usage(maxInFlightByLabel={ZONE: 1})
    counted.count(one(zone=under_way))

    assert (counted.refusal(one(zone=wanted)) is not None) == is_refused


def test_starts_count_for_an_hour_and_the_hold_ends_with_the_oldest() -> None:
    counted = Usage(maxStartsPerHour=2)
    counted.count_starts(*(NOW - minutes * MINUTE for minutes in (61, 60, 40, 10)))

    hold = counted.refusal(one())
    assert hold is not None
    words = (
        "2 remediations began within the last hour, at most 2 allowed by the policy; the oldest, of node-1 "
    )
    assert hold.message == f"{words}of NodeHealthCheck/workers, began at 2026-03-01T11:20:00Z"
    assert hold.ask_again_seconds == 20 * 60


def test_hold_by_starts_tells_those_that_began_from_those_that_wait_for_longer() -> None:
    counted = Usage(maxStartsPerHour=3)
    counted.count_starts(NOW - 40 * MINUTE)

    assert counted.words(one(), waiting("n1", 9), waiting("n2", 5)).startswith(
        "1 remediation began within the last hour, 2 that wait for longer come first, "
        "at most 3 allowed by the policy; the oldest, of node-1 "
    )


def waiting(name: str, minutes: int, zone: str = "a") -> Waiting:
    return Waiting(NOW - minutes * MINUTE, name, one(zone=zone))


def test_oldest_target_goes_first_and_blocks_no_target_that_its_limit_does_not_hold() -> None:
    counted = Usage(maxInFlight=3, maxInFlightByLabel={ZONE: 1})
    counted.count(one(zone="a"))
    line = [waiting("young", 1, "b"), waiting("held", 9), waiting("c", 2, "c"), waiting("old", 5, "b")]

    assert list(counted.limits.select(line, NOW)) == ["old", "c"]
    assert counted.words(one(zone="d"), *line).startswith(
        "1 remediation is under way, 2 that wait for longer come first, at most 3 allowed by the policy;"
    )


ZONES = st.sampled_from(["a", "b", None])
LIMITS = st.builds(
    limits,
    maxInFlight=st.none() | st.integers(1, 6),
    maxInFlightByLabel=st.just({}) | st.builds(lambda most: {ZONE: most}, st.integers(1, 4)),
    maxStartsPerHour=st.none() | st.integers(1, 6),
)


@given(
    chosen=st.tuples(LIMITS, LIMITS),
    counted=st.lists(st.builds(one, st.sampled_from([WORKERS, INFRA]), ZONES), max_size=3),
    waits=st.lists(st.tuples(st.integers(1, 3), st.sampled_from([WORKERS, INFRA]), ZONES), max_size=9),
)
def test_selection_is_what_targets_get_that_ask_in_their_order(
    chosen: tuple[Limits, Limits],
    counted: list[LimitedRemediation],
    waits: list[tuple[int, CheckReference, str | None]],
) -> None:
    usage, asked = (Usage(chosen[0], **chosen[1].model_dump(by_alias=True)) for _ in range(2))
    for remediation in counted:
        usage.count(remediation)
        asked.count(remediation)
    line = [
        Waiting(NOW - minutes * MINUTE, str(number), one(check, zone))
        for number, (minutes, check, zone) in enumerate(waits)
    ]

    admitted = []
    for wanted in sorted(line, key=lambda wanted: wanted.place):
        if asked.limits.refusal(wanted, NOW) is None:
            asked.limits.put(wanted.name, using(wanted.remediation, is_reserved=True))
            admitted.append(wanted.name)
    assert list(usage.limits.select(line, NOW)) == admitted


def test_selection_reads_the_limits_once_for_all_targets_that_count_alike() -> None:
    counted, calls = Usage(maxInFlight=10_000, maxInFlightByLabel={ZONE: 10_000}, maxStartsPerHour=10_000), 0
    scopes_of = counted.limits.scopes_of

    def counting(check: CheckReference) -> Iterable[LimitScope]:
        nonlocal calls
        calls += 1
        return scopes_of(check)

    counted.limits.scopes_of = counting
    assert len(counted.limits.select([waiting(str(number), 1) for number in range(100)], NOW)) == 100
    assert calls <= 5


def test_values_of_labels_are_forgotten_with_their_last_remediation() -> None:
    counted = Usage(maxInFlightByLabel={ZONE: 5})
    for number in range(100):
        counted.limits.put("n1", using(one(zone=str(number))))
    counted.limits.put("n1", Use(check=WORKERS, target="n1"))
    assert not counted.limits._used  # noqa: SLF001  a leak shows nowhere else


def test_target_counts_once_and_what_was_counted_for_it_is_taken_back_by_whatever_limits_hold_then() -> None:
    counted = Usage(maxInFlight=1)
    target = counted.count(one())
    counted.limits.put(target, using(one(zone="b")))
    assert counted.words(one()).startswith("1 remediation is under way, at most 1 allowed by the policy; ")

    counted.limits.scopes_of = lambda _: (LimitScope(limits(maxInFlightByLabel={ZONE: 1}), "another policy"),)
    change = counted.limits.put(target, Use(check=WORKERS, target="n1"))
    assert change.freed
    assert counted.limits == LimitUsage(scopes_of=counted.limits.scopes_of)


def test_reserved_start_that_is_seen_frees_nothing() -> None:
    counted = Usage(maxInFlight=1, maxStartsPerHour=1)
    counted.limits.put("n1", using(one(), is_reserved=True))
    change = counted.limits.put("n1", using(one(), starts=(NOW,)))
    assert not change.freed
    assert not change.taken


STUCK_WORKERS = CheckReference(kind="NodeHealthCheck", name="workers")
OTHERS = CheckReference(kind="NodeHealthCheck", name="others")
STUCK_ZONE = "zone"
OLD = STUCK_AFTER + MINUTE


def holder(
    name: str, age: timedelta = OLD, zone: str | None = "a", of: CheckReference = STUCK_WORKERS
) -> UnderWay:
    return UnderWay(name, LimitedRemediation(of, {STUCK_ZONE: zone}), NOW - age)


def waiting_for(zone: str | None = "a", of: CheckReference = STUCK_WORKERS) -> Waiting:
    return Waiting(NOW, "w", LimitedRemediation(of, {STUCK_ZONE: zone}))


@pytest.mark.parametrize(
    ("chosen", "holders", "waits", "stuck"),
    [
        pytest.param(
            limits(maxInFlight=1), [holder("n1")], [waiting_for()], ["n1"], id="kept for over an hour"
        ),
        pytest.param(
            limits(maxInFlight=1), [holder("n1", STUCK_AFTER)], [waiting_for()], [], id="for an hour"
        ),
        pytest.param(limits(maxInFlight=1), [holder("n1")], [], [], id="no target waits"),
        pytest.param(limits(maxInFlight=2), [holder("n1")], [waiting_for()], [], id="a slot is free"),
        pytest.param(
            limits(maxInFlight=3),
            [holder("n1"), holder("n2", MINUTE), holder("n3", 2 * OLD)],
            [waiting_for()],
            ["n3", "n1"],
            id="the oldest first, and none that is new",
        ),
        pytest.param(
            limits(maxInFlightByLabel={STUCK_ZONE: 1}),
            [holder("n1", zone="a"), holder("n2", zone="b")],
            [waiting_for("b")],
            ["n2"],
            id="of the zone of the target that waits",
        ),
        pytest.param(
            limits(maxInFlightByLabel={STUCK_ZONE: 1}),
            [holder("n1", zone=None)],
            [waiting_for("b")],
            ["n1"],
            id="of a zone that is not known",
        ),
        pytest.param(
            limits(maxStartsPerHour=1), [holder("n1")], [waiting_for()], [], id="starts end by themselves"
        ),
    ],
)
def test_stuck(chosen: Limits, holders: list[UnderWay], waits: list[Waiting], stuck: list[str]) -> None:
    found = stuck_slots(lambda _: [LimitScope(chosen, "the policy")], holders, waits, NOW)
    assert [one.target for slots in found for one in slots.holders] == stuck
    assert [slots.waiting for slots in found] == ([frozenset({STUCK_WORKERS})] if stuck else [])


def test_limit_of_a_check_is_kept_full_by_its_own_remediations_alone() -> None:
    scope = LimitScope(limits(maxInFlight=1), "the annotations of it", STUCK_WORKERS)

    def scopes_of(check: CheckReference) -> list[LimitScope]:
        return [scope] if check == STUCK_WORKERS else []

    assert stuck_slots(scopes_of, [holder("n1", of=OTHERS)], [waiting_for()], NOW) == ()
    (found,) = stuck_slots(scopes_of, [holder("n1", of=OTHERS), holder("n2")], [waiting_for()], NOW)
    assert (found.check, [one.target for one in found.holders]) == (STUCK_WORKERS, ["n2"])


def test_checks_that_wait_and_holders_are_named_once_for_each_limit() -> None:
    scope = LimitScope(limits(maxInFlight=7), "the policy")
    holders = [holder(f"n{number}", OLD + number * MINUTE) for number in range(7)]
    (found,) = stuck_slots(lambda _: [scope], holders, [waiting_for(), waiting_for(of=OTHERS)], NOW)
    assert found.waiting == {STUCK_WORKERS, OTHERS}
    assert str(found) == (
        "maxInFlight=7 of the policy is reached, and these have been in progress for over 1h: "
        + ", ".join(
            f"n{number} of NodeHealthCheck/workers since 2026-03-01T10:{59 - number}:00Z"
            for number in range(6, 1, -1)
        )
        + ", and 2 more"
    )
