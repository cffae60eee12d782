"""May this incident act now?"""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.cluster.cluster_context import ClusterContext
from health.cluster.global_stop import Stop
from health.cluster.upgrade import Upgrade, UpgradePhase
from health.gate.admission import Question, TargetFacts, admission
from health.gate.check_holds import CHECK_HOLDS, UnreadSource, Unseen, check_holds, stale_cache
from health.kinds.nodehealthcheck.check import NodeHealthCheck
from health.kinds.nodehealthcheck.disabled import CONFLICT, OtherChecks
from health.kinds.nodehealthcheck.kind import NODE_HEALTH_CHECK
from health.model.observation import Hold, HoldReason
from health.policy.outage_guard import GroupOutage, NodeGroup, Outages, SuspectedOutage
from health.policy.policy_in_force import UNREAD
from tests.support.values.builders import ALLOWED, BLOCKED, NOW, check_object
from tests.support.values.held import moment_of

STORM = Hold(reason=HoldReason.STORM, message="storm recovery")
BACK_OFF = Hold(reason=HoldReason.BACK_OFF, message="2nd remediation in a row")
LIMITED = Hold(reason=HoldReason.LIMIT, message="1 remediation is under way")
BLIND = Hold(reason=HoldReason.STALE_CACHE, message="the state is 40 s old")
VANISHED = Hold(reason=HoldReason.NODES_VANISHED, message="6 of 10 Nodes vanished")
UNDER_WAY = Upgrade(phase=UpgradePhase.UNDER_WAY, since=NOW, sign="a sign")
OUTAGE = SuspectedOutage(group=NodeGroup(), silent=6, seen=10, total=10, began=NOW, lasted=timedelta())
OTHERS = {NODE_HEALTH_CHECK.group_kind: OtherChecks.OTHERS}

UNKNOWN_POLICY = "the policy cannot be read, and no earlier one is known: it was not read yet"

# In the order of precedence: what objects, the reason that is given, and its words.
OBJECTIONS: list[tuple[dict[str, Any], HoldReason, str]] = [
    ({"stop": Stop("power work")}, HoldReason.STOPPED, "stopped in the whole cluster: power work"),
    ({"blind": BLIND}, HoldReason.STALE_CACHE, "the state is 40 s old"),
    (
        {"unread_context": UnreadSource("ClusterVersion")},
        HoldReason.CLUSTER_CONTEXT_UNREAD,
        "ClusterVersion: not read completely yet",
    ),
    ({"policy": UNREAD}, HoldReason.POLICY_UNKNOWN, UNKNOWN_POLICY),
    ({"of_kinds": OTHERS}, HoldReason.DISABLED, f"{CONFLICT.reason}: {CONFLICT.message}"),
    (
        {"unread_templates": UnreadSource("templates of kind RebootTemplate")},
        HoldReason.TEMPLATES_UNREAD,
        "templates of kind RebootTemplate: not read completely yet",
    ),
    (
        {"upgrade": UNDER_WAY},
        HoldReason.UPGRADING,
        "the cluster is being upgraded since 2026-03-01T12:00:00Z, says a sign",
    ),
    ({"hold": "a"}, HoldReason.HOLD_ANNOTATION, "the annotation paramedic.dev/hold on the check: a"),
    ({"pause_requests": ["update"]}, HoldReason.PAUSED, "paused by request: update"),
    (
        {"windows": "nightly"},
        HoldReason.MAINTENANCE_WINDOW,
        "its check names the maintenance window nightly, which is not in the policy",
    ),
    ({"distrusted": {"": VANISHED}}, HoldReason.NODES_VANISHED, "6 of 10 Nodes vanished"),
    (
        {"outages": Outages({NodeGroup(): GroupOutage(OUTAGE)})},
        HoldReason.SUSPECTED_OUTAGE,
        OUTAGE.hold.message,
    ),
    (
        {"unread_requests": UnreadSource("requests")},
        HoldReason.REQUESTS_UNREAD,
        "requests: not read completely yet",
    ),
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
OF_TARGET = {HoldReason.EXCLUDED, HoldReason.LIMIT, HoldReason.BACK_OFF}
NAMES = [reason.value for _, reason, _ in OBJECTIONS]


def question(
    *, pause_requests: list[str] | None = None, windows: str = "", hold: str = "", **objections: Any
) -> Question:
    """The question about a check of Nodes to which these objections apply."""
    body = check_object(pauseRequests=pause_requests)
    annotations = {"paramedic.dev/maintenance-windows": windows, "paramedic.dev/hold": hold}
    body["metadata"]["annotations"] = {name: text for name, text in annotations.items() if text}

    def taken(*names: str) -> dict[str, Any]:
        return {name: objections.pop(name) for name in names if name in objections}

    moment = moment_of(
        NodeHealthCheck.parse(body),
        ClusterContext(**taken("stop", "policy", "of_kinds", "upgrade", "distrusted", "outages")),
        unseen=Unseen(**taken("blind", "unread_context", "unread_templates", "unread_requests")),
        **{"allowance": ALLOWED} | taken("allowance", "storm"),
    )
    return Question(of_check=check_holds(CHECK_HOLDS, moment), **objections)


def merged(objections: list[tuple[dict[str, Any], HoldReason, str]]) -> dict[str, Any]:
    return {name: value for fields, _, _ in objections for name, value in fields.items()}


def test_every_row_of_the_table_objects() -> None:
    found = [admission(question(**objection)) for objection, _, _ in OBJECTIONS]
    reasons = {hold.reason for hold in found if hold is not None}
    assert [row.reasons for row in CHECK_HOLDS if not reasons & set(row.reasons)] == []


def test_row_has_no_hold_but_for_its_own_reasons() -> None:
    for objection, _, _ in OBJECTIONS:
        holds = question(**objection).of_check.found
        rows = [row for row in CHECK_HOLDS for hold in holds if hold.hold.reason in row.reasons]
        assert len(rows) == len(holds) <= 1


def test_nothing_objects() -> None:
    assert admission(question()) is None


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
    hold = admission(question(**change))

    assert hold is not None
    assert (hold.reason, hold.message) == (reason, message)


@pytest.mark.parametrize("first", range(len(OBJECTIONS)), ids=NAMES)
def test_first_objection_wins_over_all_later_ones(first: int) -> None:
    hold = admission(question(**merged(OBJECTIONS[first:])))

    assert hold is not None
    assert hold.reason is OBJECTIONS[first][1]


@given(st.sets(st.integers(0, len(OBJECTIONS) - 1)))
def test_one_objection_is_enough(chosen: set[int]) -> None:
    objections = [OBJECTIONS[index] for index in chosen]

    assert (admission(question(**merged(objections))) is None) is (not chosen)


@pytest.mark.rule("rule 6")
@pytest.mark.parametrize(("change", "reason", "_message"), OBJECTIONS, ids=NAMES)
def test_hold_of_all_targets_is_distinguished_from_the_hold_of_one(
    change: dict[str, Any], reason: HoldReason, _message: str
) -> None:
    asked = question(**change)

    assert asked.of_check.first == (None if reason in OF_TARGET else admission(asked))


@pytest.mark.rule("rule 6")
def test_hold_that_only_a_change_can_lift_is_asked_about_rarely() -> None:
    hold = admission(question(allowance=BLOCKED))

    assert hold is not None
    assert hold.ask_again_seconds == 30 * 60


DENIED = "GET /api/v1/nodes was answered 403 Forbidden: nodes is forbidden"


@pytest.mark.rule("rule 3")
@pytest.mark.parametrize(
    ("unread", "words"),
    [
        (UnreadSource("nodes"), "nodes: not read completely yet"),
        (UnreadSource("nodes", DENIED, NOW), f"nodes: {DENIED} (since 2026-03-01T12:00:00Z)"),
        (
            UnreadSource("nodes", "GET /x was answered 502.", NOW),
            "nodes: GET /x was answered 502 (since 2026-03-01T12:00:00Z)",
        ),
        (
            UnreadSource("nodes", None, NOW),
            "nodes: without any activity for too long (since 2026-03-01T12:00:00Z)",
        ),
    ],
    ids=["not asked yet", "refused", "no full stop in the middle", "silent"],
)
def test_source_that_cannot_be_read_is_named_with_its_error_and_since_when(
    unread: UnreadSource, words: str
) -> None:
    hold = stale_cache(unread)
    assert hold is not None
    assert (hold.reason, hold.message) == (HoldReason.STALE_CACHE, f"cannot read {words}")
    assert stale_cache(None) is None
