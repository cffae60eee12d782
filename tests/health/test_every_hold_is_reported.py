"""While anything holds a check as a whole, its status says so, in every kind of check (rule 55).

The holds are those of the one table of admission. A row without a sample fails here, and so does a kind.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from detector.context.sources_of_checks import CheckFreshness
from health.check.check_snapshot import CheckSnapshot
from health.check.storm import Storm
from health.cluster.clock_skew import workload_clock_hold
from health.cluster.cluster_context import CheckProblem, workload_cluster_hold
from health.cluster.global_stop import Stop
from health.gate.check_holds import CHECK_HOLDS, UnreadSource, Unseen
from health.kinds.clusterapi.kind import CLUSTER_API_MACHINE_HEALTH_CHECK as CLUSTER_API
from health.kinds.machines.conditions import TOO_MANY_UNHEALTHY
from health.kinds.nodehealthcheck.kind import NODE_HEALTH_CHECK
from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK as OPENSHIFT
from health.kinds.registry import CHECK_KINDS
from health.model.observation import Hold, HoldReason
from objects.timestamps import stamp
from tests.support.values import cluster_api, openshift
from tests.support.values.builders import ALLOWED, BLOCKED, NOW, check, snapshot
from tests.support.values.cluster_api import merged
from tests.support.values.held import held, with_holds

pytestmark = pytest.mark.rule("rule 55")

LATER = NOW + timedelta(minutes=1)
STORM = Storm(is_active=True, turned=NOW, is_cooling=False, cooldown_turned=NOW)
SKEW = workload_clock_hold("fleet/edge", timedelta(minutes=6))


def hold(reason: HoldReason, message: str) -> Hold:
    return Hold(reason=reason, message=message)


@dataclass(frozen=True)
class Sample:
    """One hold, as a snapshot has it."""

    reason: str
    """As conditions have it."""
    fields: Mapping[str, Any]
    is_blocked: bool = False
    """Whether the threshold is broken."""

    def seen(self, of: CheckSnapshot) -> CheckSnapshot:
        return with_holds(of, **self.fields)


def around(cause: Hold | Stop | CheckProblem, **fields: Any) -> Sample:
    """A hold of the check by the cluster context."""
    reason = cause.hold.reason if isinstance(cause, Stop) else cause.reason
    return Sample(reason, {"given": held(cause, **fields)})


def unseen(reason: str, **fields: Any) -> Sample:
    """Something that is not known well enough."""
    return Sample(reason, {"unseen": Unseen(**fields)})


SAMPLES = {
    "stop": around(Stop("power work")),
    "stale cache": unseen(HoldReason.STALE_CACHE, blind=hold(HoldReason.STALE_CACHE, "40 s old")),
    "clock": unseen("ClockSkew", blind=SKEW),
    "unread context": unseen(HoldReason.CLUSTER_CONTEXT_UNREAD, unread_context=UnreadSource("Clusters")),
    "unknown policy": around(hold(HoldReason.POLICY_UNKNOWN, "it was not read yet")),
    "disabled": around(CheckProblem("RemediationTemplateNotFound", "no")),
    "unread templates": unseen("TemplatesUnread", unread_templates=UnreadSource("templates")),
    "upgrade": around(hold(HoldReason.UPGRADING, "being upgraded since noon")),
    "unknown upgrade": around(hold(HoldReason.UPGRADE_UNKNOWN, "no ClusterVersion")),
    "annotation": around(hold(HoldReason.HOLD_ANNOTATION, "power work")),
    "pause": around(hold(HoldReason.PAUSED, "by request"), is_fully_paused=True),
    "window": around(hold(HoldReason.MAINTENANCE_WINDOW, "allowed from ten")),
    "unreachable": around(workload_cluster_hold("fleet/edge", "refused")),
    "outage": around(hold(HoldReason.SUSPECTED_OUTAGE, "6 of 10 Nodes")),
    "unread requests": unseen("RequestsUnread", unread_requests=UnreadSource("requests")),
    "threshold": Sample("Threshold", {}, is_blocked=True),
    "storm": Sample("Storm", {"storm": STORM}),
}
ALL = pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES)
UNPAUSED = pytest.mark.parametrize(
    "sample", [one for name, one in SAMPLES.items() if name not in {"pause", "storm"}]
)


def of_nodes(sample: Sample) -> CheckSnapshot:
    allowance = BLOCKED if sample.is_blocked else ALLOWED
    return sample.seen(snapshot(of=check(stormCooldownDuration="1m"), allowance=allowance))


def of_openshift(sample: Sample) -> CheckSnapshot:
    return sample.seen(
        openshift.snapshot(of=openshift.check(maxUnhealthy="40%"), healthy=2 if sample.is_blocked else 5)
    )


def of_cluster_api(sample: Sample) -> CheckSnapshot:
    forty = cluster_api.check(trigger={"unhealthyLessThanOrEqualTo": "40%"})
    return sample.seen(cluster_api.snapshot(of=forty, healthy=2 if sample.is_blocked else 5))


KINDS: dict[str, Callable[[Sample], CheckSnapshot]] = {
    NODE_HEALTH_CHECK.resource_name: of_nodes,
    OPENSHIFT.resource_name: of_openshift,
    CLUSTER_API.resource_name: of_cluster_api,
}
OF_MACHINES = pytest.mark.parametrize("kind", [OPENSHIFT, CLUSTER_API], ids=lambda kind: kind.resource_name)


def condition(status: Mapping[str, Any], type_: str) -> dict[str, Any]:
    return next((one for one in status.get("conditions", ()) if one["type"] == type_), {})


def test_every_row_of_the_table_and_every_kind_has_a_sample() -> None:
    reasons = {one.hold.reason for sample in SAMPLES.values() for one in of_nodes(sample).holds.found}
    assert [row.reasons for row in CHECK_HOLDS if not reasons & set(row.reasons)] == []
    assert set(KINDS) == {kind.resource_name for kind in CHECK_KINDS.values()}


@OF_MACHINES
@UNPAUSED
def test_remediation_is_not_allowed_for_that_reason_and_allowed_after_it(kind: Any, sample: Sample) -> None:
    seen = KINDS[kind.resource_name](sample)
    status = merged({}, kind.status_patch(seen, {}, NOW))
    said = condition(status, "RemediationAllowed")
    expected = TOO_MANY_UNHEALTHY if sample.is_blocked else sample.reason
    assert (said["status"], said["reason"]) == ("False", expected)
    assert said["message"]
    assert kind.status_patch(seen, status, LATER) == {}

    over = KINDS[kind.resource_name](Sample("", {}))
    assert (
        condition(merged(status, kind.status_patch(over, status, LATER)), "RemediationAllowed")["status"]
        == "True"
    )


@ALL
def test_reason_of_a_node_health_check_says_it_under_the_phase_of_the_operator(sample: Sample) -> None:
    status = merged({}, NODE_HEALTH_CHECK.status_patch(of_nodes(sample), {}, NOW))
    phase, reason = status["phase"], status["reason"]
    if sample.reason == "RemediationTemplateNotFound":
        assert (phase, reason) == ("Disabled", "NHC is disabled: RemediationTemplateNotFound: no")
        return
    if sample.reason == "Paused":
        return  # by spec.pauseRequests, which have a phase: tests of the status
    found = of_nodes(sample).holds.first
    assert phase == "Enabled"
    since = f"no new remediation is begun since {stamp(NOW)}"
    assert reason == f"NHC is enabled, no ongoing remediation; {since}: {found}"


def test_pause_is_said_as_each_api_says_it() -> None:
    pause = SAMPLES["pause"]
    assert (
        condition(merged({}, CLUSTER_API.status_patch(of_cluster_api(pause), {}, NOW)), "Paused")["status"]
        == "True"
    )
    assert OPENSHIFT.status_patch(of_openshift(pause), {}, NOW) == {}  # its API has nothing for it (rule 7)


@pytest.mark.parametrize("sample", [one for one in SAMPLES.values() if "unseen" in one.fields])
def test_events_of_targets_go_on_while_something_is_unseen_for_a_moment(sample: Sample) -> None:
    """They would be repeated after it, for all targets."""
    assert not of_nodes(sample).suppresses_target_events


def test_numbers_and_the_rest_of_the_status_stay_true_while_it_is_held() -> None:
    """The threshold alone makes the number of remediations that are allowed, as its API has it."""
    allowed, held = of_cluster_api(Sample("", {})), of_cluster_api(SAMPLES["upgrade"])
    names = ("expectedMachines", "currentHealthy", "remediationsAllowed", "targets")
    of_allowed, of_held = (CLUSTER_API.status_patch(one, {}, NOW) for one in (allowed, held))
    assert [of_held[name] for name in names] == [of_allowed[name] for name in names]


UNREAD = (UnreadSource("context"), UnreadSource("templates"), UnreadSource("requests"))


@pytest.mark.parametrize(
    ("freshness", "expected"),
    [
        (CheckFreshness(), Unseen()),
        (CheckFreshness(unread=UnreadSource("nodes")), HoldReason.STALE_CACHE),
        (CheckFreshness(unread=UnreadSource("nodes"), clock=SKEW), HoldReason.STALE_CACHE),
        (CheckFreshness(clock=SKEW), HoldReason.CLOCK_SKEW),
        (
            CheckFreshness(inputs=Unseen(None, *UNREAD)),
            Unseen(None, *UNREAD),
        ),
    ],
)
def test_unseen_context_is_the_hold_in_answers_to_incidents(
    freshness: CheckFreshness, expected: object
) -> None:
    found = freshness.unseen
    assert (found if found.blind is None else found.blind.reason) == expected
