"""Changes that are noticed at once (NHC 2.0): affected incidents start or are woken.

An admitted incident is not woken for a new hold: its act and its next question find the hold.
test_reconciler.py shows that a notification starts or wakes an incident, and tests/kube that a watch
notifies.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pytest

from detector.context.sources_of_checks import CheckFreshness
from detector.reporting.snapshot_builder import SnapshotBuilder
from health.check.check_snapshot import CheckSnapshot
from health.cluster.cluster_context import ClusterContext
from health.gate.back_off import NO_BACK_OFF
from health.kinds.nodehealthcheck.disabled import OtherChecks
from health.kinds.nodehealthcheck.kind import NODE_HEALTH_CHECK
from health.kinds.nodehealthcheck.status import status_patch
from health.model.node import CONFIRMED_HEALTHY, EXCLUDE_LABEL
from health.model.observation import HoldReason, Observation, TargetState
from health.model.references import CheckReference
from health.model.remediation_request import CONTROL_PLANE_LABEL, RemediationRequest
from health.runbook.wake_up import needs_wake_up
from kube.lease import CONTROL_PLANE_LOCK, LeaseRecord
from objects.timestamps import stamp
from tests.support.state.small_cluster import CHECK, REQUEST_KIND, SmallCluster, incident_of
from tests.support.values.builders import EMPTY_CONTEXT, NOW, TEMPLATE, condition

NODE, WELL = "node-1", "node-2"
SECOND_CHECK = CheckReference(kind="NodeHealthCheck", name="others")
FRESH = CheckFreshness()
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
WORKER = {"role": "worker"}

Change = Callable[["Rig"], None]


@dataclass
class Rig:
    """A small cluster that records the targets of its notifications."""

    cluster: SmallCluster = field(default_factory=SmallCluster)
    told: list[tuple[CheckReference, str | None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        handlers = self.cluster.cluster_state.event_handlers
        handlers.add_change_handler(lambda check, target: self.told.append((check, target)))

    def check(self, of: CheckReference = CHECK, **spec: Any) -> None:
        self.cluster.check(of.name, **{"minHealthy": 0} | spec)

    def fail(
        self, name: str = NODE, since: datetime = NOW - HOUR, labels: dict[str, str] | None = None
    ) -> None:
        self.cluster.node(name, ready="Unknown", since=since, labels=WORKER | (labels or {}))

    def recover(self, name: str = NODE, **metadata: Any) -> None:
        self.cluster.node(name, **metadata)

    def edit_request(self, name: str = NODE, **fields: Any) -> None:
        """Set further fields of a node's request."""
        (entry,) = self.cluster.cluster_state.requests.of(CHECK, name)
        told = entry.request.model_dump(by_alias=True) | fields
        request = RemediationRequest.model_validate(told)
        self.cluster.cluster_state.request_changed(*REQUEST_KIND, request, exists=True)

    def lease(self, name: str, holder: str | None) -> None:
        """Set the holder of a node's Lease; None removes the Lease."""
        lease = None if holder is None else LeaseRecord.model_validate(lease_object(name, holder))
        self.cluster.cluster_state.lease_changed(name, lease)

    def judge_by(self, others: OtherChecks) -> None:
        context = ClusterContext(of_kinds={NODE_HEALTH_CHECK.group_kind: others})
        self.cluster.cluster_state.take_context(context)

    def observe(self, name: str = NODE, check: CheckReference = CHECK) -> Observation:
        return self.cluster.observe(name, check=check.name)

    def snapshot(self, check: CheckReference = CHECK) -> CheckSnapshot:
        builder = SnapshotBuilder(self.cluster.cluster_state, lambda *_: NO_BACK_OFF)
        snapshot = builder.of(check, None, self.cluster.now)
        assert snapshot is not None
        return snapshot

    def status(self, check: CheckReference = CHECK, **stored: Any) -> dict[str, Any]:
        """The patch of a check with the status `stored`."""
        return status_patch(self.snapshot(check), stored, self.cluster.now)

    def wants(self, name: str, check: CheckReference = CHECK) -> bool:
        """True if the target needs an incident."""
        return incident_of(name, check.name) in self.cluster.cluster_state.wanted(check, name)

    def shows(self, change: Change, name: str = NODE, check: CheckReference = CHECK) -> Observation:
        """The observation after the change, which must have notified the target."""
        self.told.clear()
        change(self)
        assert (check, name) in self.told
        return self.observe(name, check)

    def notices(self, change: Change, name: str = NODE, check: CheckReference = CHECK) -> Observation:
        """The observation after the change, which must wake the open incident."""
        before = self.observe(name, check)
        now = self.shows(change, name, check)
        assert needs_wake_up(before, now)
        return now

    def begins(self, change: Change, name: str, check: CheckReference = CHECK) -> Observation:
        """The first observation of an incident that the change makes necessary."""
        assert not self.wants(name, check)
        observation = self.shows(change, name, check)
        assert self.wants(name, check)
        return observation


def lease_object(name: str, holder: str) -> dict[str, Any]:
    metadata = {"name": name, "uid": "u", "resourceVersion": "1", "creationTimestamp": stamp(NOW)}
    spec = {"holderIdentity": holder, "leaseDurationSeconds": 600, "renewTime": stamp(NOW)}
    return {"metadata": metadata, "spec": spec}


def why_held(observation: Observation) -> str | None:
    return None if observation.hold is None else observation.hold.reason


@pytest.fixture
def rig() -> Rig:
    """A check, an expired node, and a healthy one."""
    made = Rig()
    made.check()
    made.fail()
    made.recover(WELL)
    return made


@pytest.mark.rule("NHC 2.0/check")
def test_check_that_is_created_finds_the_nodes_that_failed_before() -> None:
    rig = Rig()
    rig.fail()
    assert rig.begins(Rig.check, NODE).may_be_admitted


@pytest.mark.rule("NHC 2.0/check", "NHC 2.1/1")
def test_check_that_is_deleted_releases_its_nodes(rig: Rig) -> None:
    assert rig.notices(lambda rig: rig.cluster.delete_check()).state is TargetState.RELEASED


@pytest.mark.rule("NHC 2.0/check", "NHC 2.7/check edited")
def test_threshold_that_is_edited_holds_and_lets_go_at_once(rig: Rig) -> None:
    held = rig.notices(lambda rig: rig.check(minHealthy="100%", generation=4))
    assert why_held(held) is HoldReason.THRESHOLD
    assert rig.notices(lambda rig: rig.check(generation=5)).may_be_admitted


@pytest.mark.rule("NHC 2.0/check", "NHC 2.7/check edited", "rule 10/edit")
def test_duration_that_is_edited_counts_from_the_same_moment_of_the_condition(rig: Rig) -> None:
    longer = rig.notices(lambda rig: rig.check(duration="90m", generation=4))
    assert longer.state is TargetState.WAITING
    assert timedelta(seconds=longer.remaining_seconds) // MINUTE == 30
    shorter = rig.notices(lambda rig: rig.check(duration="61m", generation=5))
    assert timedelta(seconds=shorter.remaining_seconds) // MINUTE == 1
    assert rig.notices(lambda rig: rig.check(duration="59m", generation=6)).may_be_admitted


@pytest.mark.rule("NHC 2.0/check", "NHC 2.7/check edited", "rule 10/edit")
def test_other_template_is_that_of_the_next_step_also_of_the_incident_that_is_open(rig: Rig) -> None:
    other = TEMPLATE | {"name": "another"}
    observation = rig.notices(lambda rig: rig.check(remediationTemplate=other, generation=4))
    assert [step.template.name for step in observation.steps] == ["another"]


@pytest.mark.rule("NHC 2.0/check", "NHC 2.7/check edited", "NHC 2.1/11")
def test_pause_holds_and_its_end_lets_go_at_once(rig: Rig) -> None:
    paused = rig.notices(lambda rig: rig.check(pauseRequests=["row 7"], generation=4))
    assert why_held(paused) is HoldReason.PAUSED
    assert rig.notices(lambda rig: rig.check(generation=5)).may_be_admitted


@pytest.mark.rule("NHC 2.0/node conditions")
def test_condition_that_appears_turns_or_goes_is_noticed_and_each_status_has_its_own_clock() -> None:
    rig = Rig()
    rules = [
        {"type": "Ready", "status": "Unknown", "duration": "90m"},
        {"type": "Ready", "status": "False", "duration": "4m"},
        {"type": "DiskPressure", "status": "True", "duration": "2m"},
    ]
    rig.check(unhealthyConditions=rules)
    rig.recover()
    appeared = rig.begins(Rig.fail, NODE)
    assert timedelta(seconds=appeared.remaining_seconds) // MINUTE == 30

    turned = rig.notices(lambda rig: rig.cluster.node_with(NODE, condition("Ready", "False")))
    assert timedelta(seconds=turned.remaining_seconds) // MINUTE == 4
    unknown = condition("Ready", "Unknown", NOW - HOUR)
    both = rig.notices(lambda rig: rig.cluster.node_with(NODE, unknown, condition("DiskPressure", "True")))
    assert timedelta(seconds=both.remaining_seconds) // MINUTE == 2
    assert both.fact is not None
    assert both.fact.condition == "DiskPressure"
    eased = rig.notices(lambda rig: rig.cluster.node_with(NODE, unknown, condition("DiskPressure", "False")))
    assert timedelta(seconds=eased.remaining_seconds) // MINUTE == 30
    assert rig.notices(lambda rig: rig.cluster.node_with(NODE)).state is TargetState.HEALTHY


@pytest.mark.rule("NHC 2.2/timer runs")
def test_node_on_which_a_timer_runs_is_not_healthy(rig: Rig) -> None:
    rig.fail(WELL, since=NOW)
    assert rig.observe(WELL).state is TargetState.WAITING
    status = rig.status()
    assert (status["observedNodes"], status["healthyNodes"]) == (2, 0)


@pytest.mark.rule("NHC 2.0/node exclude label", "NHC 1.7/exclude-from-remediation")
def test_label_that_excludes_a_node_is_noticed_when_it_comes_and_when_it_goes(rig: Rig) -> None:
    excluded = rig.shows(lambda rig: rig.fail(labels={EXCLUDE_LABEL: "true"}))
    assert why_held(excluded) is HoldReason.EXCLUDED
    assert rig.notices(lambda rig: rig.fail(labels={EXCLUDE_LABEL: ""})).may_be_admitted
    (target,) = rig.snapshot().targets.values()
    assert target.has_empty_exclusion


@pytest.mark.rule("NHC 2.0/node selector label", "NHC 2.1/8", "NHC 2.1/12")
def test_label_brings_a_node_into_a_check_and_out_of_it(rig: Rig) -> None:
    released = rig.notices(lambda rig: rig.cluster.node_with(NODE, condition("Ready", "Unknown"), labels={}))
    assert released.state is TargetState.RELEASED
    assert rig.status()["observedNodes"] == 1
    assert rig.begins(Rig.fail, NODE).may_be_admitted
    assert rig.status()["observedNodes"] == 2


@pytest.mark.rule("NHC 2.0/node confirmed healthy")
def test_confirmation_of_a_person_is_noticed_when_it_comes_and_when_it_goes(rig: Rig) -> None:
    rig.check(healthyDelay="1h")
    rig.cluster.request(NODE)
    rig.recover()
    assert not rig.observe().is_confirmed
    assert rig.notices(lambda rig: rig.recover(annotations={CONFIRMED_HEALTHY: ""})).is_confirmed
    assert not rig.notices(Rig.recover).is_confirmed


@pytest.mark.rule("NHC 2.0/node deleted", "NHC 2.7/node deleted", "NHC 2.7/entry without request", "rule 11")
def test_node_that_is_deleted_is_noticed_and_its_entry_goes_with_its_request(rig: Rig) -> None:
    rig.cluster.request(NODE)
    gone = rig.notices(lambda rig: rig.cluster.delete_node(NODE))
    assert gone.state is TargetState.GONE
    assert [request.reference.name for request in gone.requests] == [NODE]
    assert [entry["name"] for entry in rig.status()["unhealthyNodes"]] == [NODE]

    stored = rig.status()
    rig.cluster.delete_request(NODE)
    assert not rig.wants(NODE)
    assert not rig.status(**stored)["unhealthyNodes"]
    assert rig.status()["observedNodes"] == 1


@pytest.mark.rule("NHC 2.0/request")
def test_request_that_is_deleted_is_noticed(rig: Rig) -> None:
    rig.cluster.request(NODE)
    assert not rig.notices(lambda rig: rig.cluster.delete_request(NODE)).requests


@pytest.mark.rule("NHC 2.0/request")
def test_request_whose_remediator_reports_is_noticed(rig: Rig) -> None:
    failed = {"conditions": [{"type": "Succeeded", "status": "False"}]}
    rig.cluster.request(NODE)
    (request,) = rig.notices(lambda rig: rig.edit_request(status=failed)).requests
    assert request.succeeded is False


@pytest.mark.rule("NHC 2.0/MachineHealthChecks")
def test_conflict_with_machine_health_checks_is_noticed_when_it_begins_and_when_it_ends(rig: Rig) -> None:
    begun = rig.shows(lambda rig: rig.judge_by(OtherChecks.OTHERS))
    assert why_held(begun) is HoldReason.DISABLED
    ended = rig.notices(lambda rig: rig.cluster.cluster_state.take_context(EMPTY_CONTEXT))
    assert ended.may_be_admitted


@pytest.mark.rule("NHC 2.5/obtain/foreign", "rule 13")
def test_lease_of_another_is_noticed_when_it_comes_and_when_it_goes(rig: Rig) -> None:
    taken = rig.shows(lambda rig: rig.lease(f"node-{NODE}", "maintenance"))
    assert why_held(taken) is HoldReason.TAKEN
    assert rig.notices(lambda rig: rig.lease(f"node-{NODE}", None)).may_be_admitted


@pytest.mark.rule("NHC 2.4/1", "rule 21")
def test_node_of_the_control_plane_waits_for_the_request_and_the_lock_of_one_of_another_check() -> None:
    rig = Rig()
    labels = [{f"node-role.kubernetes.io/{role}": ""} for role in ("control-plane", "master")]
    rig.check(selector={"matchLabels": labels[0]})
    rig.check(SECOND_CHECK, selector={"matchLabels": labels[1]})
    rig.fail(NODE, labels=labels[0])
    rig.fail(WELL, labels=labels[1])
    assert rig.observe(WELL, SECOND_CHECK).may_be_admitted

    rig.cluster.request(NODE)
    (entry,) = rig.cluster.cluster_state.requests.of(CHECK, NODE)
    metadata = entry.request.model_dump(by_alias=True)["metadata"] | {"labels": {CONTROL_PLANE_LABEL: ""}}
    held = rig.shows(lambda rig: rig.edit_request(metadata=metadata), WELL, SECOND_CHECK)
    assert why_held(held) is HoldReason.CONTROL_PLANE
    assert NODE in str(held.hold)
    rig.lease(CONTROL_PLANE_LOCK, CHECK.lock_holder(NODE))
    rig.cluster.delete_request(NODE)
    assert why_held(rig.observe(WELL, SECOND_CHECK)) is HoldReason.CONTROL_PLANE
    freed = rig.notices(lambda rig: rig.lease(CONTROL_PLANE_LOCK, None), WELL, SECOND_CHECK)
    assert freed.may_be_admitted


@pytest.mark.rule("NHC 2.8/same template", "NHC 2.4/4/foreign", "rule 13", "rule 13/blocked")
def test_of_two_checks_the_second_lists_the_node_without_a_request_until_that_of_the_first_is_gone(
    rig: Rig,
) -> None:
    rig.check(SECOND_CHECK)
    rig.cluster.request(NODE)
    assert rig.observe().requests
    held = rig.observe(check=SECOND_CHECK)
    assert held.requests == ()
    assert why_held(held) is HoldReason.TAKEN_BY_REQUEST
    assert str(CHECK) in str(held.hold)
    assert rig.status(SECOND_CHECK)["unhealthyNodes"] == [{"name": NODE}]

    freed = rig.notices(lambda rig: rig.cluster.delete_request(NODE), check=SECOND_CHECK)
    assert freed.may_be_admitted


@pytest.mark.rule("NHC 2.8/thresholds", "rule 13")
def test_each_of_two_checks_has_its_own_numbers_and_its_own_threshold(rig: Rig) -> None:
    rig.check(SECOND_CHECK, selector={"matchLabels": {"rack": "7"}}, minHealthy="51%")
    rig.fail(labels={"rack": "7"})
    numbers = [
        (status["observedNodes"], status["healthyNodes"]) for status in map(rig.status, (CHECK, SECOND_CHECK))
    ]
    assert numbers == [(2, 1), (1, 0)]
    assert rig.observe().may_be_admitted
    assert why_held(rig.observe(check=SECOND_CHECK)) is HoldReason.THRESHOLD
