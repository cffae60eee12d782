"""May this incident act now?"""

from dataclasses import fields, replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.check.check_context import CheckContext
from health.cluster.cluster_context import CheckProblem, workload_cluster_hold
from health.cluster.global_stop import Stop
from health.gate.admission import Question, TargetFacts, admission, common_hold, stale_cache
from health.model.observation import Hold, HoldReason
from health.policy.maintenance_windows import Closed
from health.policy.policy_in_force import UNREAD
from tests.objects import ALLOWED, BLOCKED, NOW

GO = Question(allowance=ALLOWED)
STORM = Hold(reason=HoldReason.STORM, message="storm recovery")
BACK_OFF = Hold(reason=HoldReason.BACK_OFF, message="2nd remediation in a row")
LIMITED = Hold(reason=HoldReason.LIMIT, message="1 remediation is under way")
UPGRADING = Hold(reason=HoldReason.UPGRADING, message="being upgraded")
OUTAGE = Hold(reason=HoldReason.SUSPECTED_OUTAGE, message="6 of 10 Nodes")
PAUSED = Hold(reason=HoldReason.PAUSED, message="paused by request: update")

UNKNOWN_POLICY = "the policy cannot be read, and no earlier one is known: it was not read yet"

# In the order of precedence: what objects, the reason that is given, and its words.
OBJECTIONS: list[tuple[dict[str, Any], HoldReason, str]] = [
    (
        {"context": CheckContext(stop=Stop("power work"))},
        HoldReason.STOPPED,
        "stopped in the whole cluster: power work",
    ),
    (
        {"unread_context": "ClusterVersion: not read completely yet"},
        HoldReason.CLUSTER_CONTEXT_UNREAD,
        "ClusterVersion: not read completely yet",
    ),
    ({"context": CheckContext(policy=UNREAD.hold)}, HoldReason.POLICY_UNKNOWN, UNKNOWN_POLICY),
    (
        {"context": CheckContext(problem=CheckProblem("TheReason", "the message"))},
        HoldReason.DISABLED,
        "TheReason: the message",
    ),
    (
        {"unread_templates": "templates of kind RebootTemplate: they were not read completely yet"},
        HoldReason.TEMPLATES_UNREAD,
        "templates of kind RebootTemplate: they were not read completely yet",
    ),
    ({"context": CheckContext(upgrade=UPGRADING)}, HoldReason.UPGRADING, "being upgraded"),
    ({"context": CheckContext(pause=PAUSED)}, HoldReason.PAUSED, "paused by request: update"),
    (
        {"context": CheckContext(window=Closed("allowed from ten", None, NOW))},
        HoldReason.MAINTENANCE_WINDOW,
        "allowed from ten",
    ),
    (
        {"context": CheckContext(unreachable=workload_cluster_hold("fleet/east", "refused"))},
        HoldReason.WORKLOAD_CLUSTER_UNREACHABLE,
        "the Nodes of the workload cluster fleet/east cannot be seen: refused",
    ),
    ({"context": CheckContext(outage=OUTAGE)}, HoldReason.SUSPECTED_OUTAGE, "6 of 10 Nodes"),
    ({"allowance": BLOCKED}, HoldReason.THRESHOLD, "5 of 10 unhealthy, at most 4 allowed"),
    ({"storm": STORM}, HoldReason.STORM, "storm recovery"),
    (
        {"target": TargetFacts(is_excluded=True)},
        HoldReason.EXCLUDED,
        "the node is labelled to be excluded from remediation",
    ),
    ({"limit": LIMITED}, HoldReason.LIMIT, "1 remediation is under way"),
    ({"back_off": BACK_OFF}, HoldReason.BACK_OFF, "2nd remediation in a row"),
]
NAMES = [reason.value for _, reason, _ in OBJECTIONS]


def changed(question: Question, change: dict[str, Any]) -> Question:
    """The same question with one more objection."""
    if "context" in change:
        more = {name: value for name, value in vars(change["context"]).items() if value is not None}
        change = {"context": replace(question.context, **more)}
    return replace(question, **change)


def test_each_field_of_the_context_of_a_check_objects_so_that_none_stops_storms_alone() -> None:
    contexts = [change["context"] for change, _, _ in OBJECTIONS if "context" in change]
    assert all(context.holds for context in contexts)
    tried = {one.name for context in contexts for one in fields(context) if getattr(context, one.name)}
    assert tried == {one.name for one in fields(CheckContext)} - {"is_fully_paused"}


def test_nothing_objects() -> None:
    assert admission(GO) is None


@pytest.mark.rule(
    "NHC 1.7/exclude-from-remediation",
    "NHC 2.1/4",
    "NHC 2.1/5",
    "NHC 2.1/10",
    "NHC 2.1/11",
    "NHC 2.1/15",
    "NHC 2.1/17",
    "rule 11/recreated",
    "rule 13",
    "rule 42",
)
@pytest.mark.parametrize(("change", "reason", "message"), OBJECTIONS, ids=NAMES)
def test_objection_gives_its_reason(change: dict[str, Any], reason: HoldReason, message: str) -> None:
    hold = admission(replace(GO, **change))

    assert hold is not None
    assert (hold.reason, hold.message) == (reason, message)


@pytest.mark.parametrize("first", range(len(OBJECTIONS)), ids=NAMES)
def test_first_objection_wins_over_all_later_ones(first: int) -> None:
    question = GO
    for change, _, _ in OBJECTIONS[first:]:
        question = changed(question, change)
    hold = admission(question)

    assert hold is not None
    assert hold.reason is OBJECTIONS[first][1]


@given(st.sets(st.integers(0, len(OBJECTIONS) - 1)))
def test_one_objection_is_enough(chosen: set[int]) -> None:
    question = GO
    for index in chosen:
        question = changed(question, OBJECTIONS[index][0])

    assert (admission(question) is None) is (not chosen)


@pytest.mark.rule("rule 6")
@pytest.mark.parametrize(("change", "reason", "_message"), OBJECTIONS, ids=NAMES)
def test_what_holds_all_targets_is_told_from_what_holds_one(
    change: dict[str, Any], reason: HoldReason, _message: str
) -> None:
    question = replace(GO, **change)
    is_of_target = reason in (HoldReason.EXCLUDED, HoldReason.LIMIT, HoldReason.BACK_OFF)

    assert common_hold(question) == (None if is_of_target else admission(question))


@pytest.mark.rule("rule 6")
def test_hold_that_only_a_change_can_lift_is_asked_about_rarely() -> None:
    hold = admission(replace(GO, allowance=BLOCKED))

    assert hold is not None
    assert hold.ask_again_seconds == 30 * 60


LIMIT = timedelta(seconds=5)


@pytest.mark.rule("rule 3")
@pytest.mark.parametrize(
    "age",
    [
        pytest.param(timedelta(), id="new"),
        pytest.param(LIMIT, id="exactly as old as it may be"),
    ],
)
def test_fresh_sight_is_good_enough(age: timedelta) -> None:
    assert stale_cache(age, LIMIT) is None


@pytest.mark.rule("rule 3")
@pytest.mark.parametrize(
    ("age", "message"),
    [
        pytest.param(None, "the cluster was not read completely yet", id="never complete"),
        pytest.param(timedelta(seconds=9), "the last activity of the API server is 9s old", id="too old"),
        pytest.param(
            LIMIT + timedelta(microseconds=1),
            "the last activity of the API server is 5s old",
            id="an instant too old",
        ),
    ],
)
def test_stale_sight_holds(age: timedelta | None, message: str) -> None:
    hold = stale_cache(age, LIMIT)

    assert hold is not None
    assert (hold.reason, hold.message) == (HoldReason.STALE_CACHE, message)
