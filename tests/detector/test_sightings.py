"""Looks at Machines, for both kinds of their checks; Nodes: tests/health/test_sighting.py."""

from datetime import datetime, timedelta

import pytest

from health.cluster.cluster_context import ClusterContext
from health.kinds.clusterapi.machine import MACHINES, Machine
from health.kinds.clusterapi.machine import MachineTarget as ClusterApiTarget
from health.kinds.openshift.machine import MachineTarget
from health.model.references import kind_name
from health.model.sighting import Look
from health.model.target import TargetName
from health.model.verdict import CountedFact, Health, Match
from kube.record import Key
from tests.support.state.small_cluster_api import SmallClusterApi, machine_object
from tests.support.values import cluster_api, openshift
from tests.support.values.builders import NOW, condition

SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)
TEN = 10 * MINUTE
NEVER_READ = ClusterContext()
BOOTSTRAP = {"type": "BootstrapReady", "status": "False", "timeoutSeconds": 60}
BY_CONDITION = cluster_api.check(checks={"unhealthyMachineConditions": [BOOTSTRAP]})


def look(at: datetime) -> Look:
    return Look(at=at, since=at - SECOND)


@pytest.mark.rule("rule 56", "rule 57")
@pytest.mark.parametrize(
    ("times", "began"),
    [
        ((NOW - 3 * HOUR,), NOW),
        ((NOW + 3 * HOUR,), NOW),
        ((None,), NOW),
        ((NOW, NOW + 15 * SECOND, NOW + 30 * SECOND), NOW),
        ((NOW - 3 * HOUR, NOW + 15 * SECOND), NOW),
    ],
)
def test_condition_of_a_machine_counts_from_the_look_that_its_time_contradicts(
    times: tuple[datetime | None, ...], began: datetime
) -> None:
    seen = cluster_api.machine(condition("BootstrapReady", "True")).seen_after(None, look(NOW - HOUR))
    for number, time in enumerate(times):
        stated = condition("BootstrapReady", "False") | {"lastTransitionTime": time}
        seen = cluster_api.machine(stated).seen_after(seen, look(NOW + number * 15 * SECOND))
    target = cluster_api.target(condition("Ready", "True"), of=seen)
    verdict = BY_CONDITION.verdict(target, NOW + 31 * SECOND, cluster_api.EVERYTHING_READY)
    assert (verdict.health, verdict.deadline) == (Health.WAITING, began + MINUTE)


@pytest.mark.rule("rule 57", "rule 25")
def test_controller_that_writes_a_status_again_and_again_does_not_restart_the_startup_of_a_machine() -> None:
    check, before = openshift.check(), None
    for minute in range(10):
        written = openshift.machine(phase="Provisioned", node_name="", updated=NOW + minute * MINUTE)
        before = written.seen_after(before, look(NOW + minute * MINUTE))
    assert before is not None
    target, due = MachineTarget(before), NOW + MINUTE + TEN
    assert check.verdict(target, due, NEVER_READ).deadline == due, "the first move counts"
    assert check.verdict(target, due + SECOND, NEVER_READ).health is Health.EXPIRED

    running = openshift.machine(phase="Running", node_name="", updated=NOW + TEN)
    after = MachineTarget(running.seen_after(before, look(NOW + TEN)))
    assert check.verdict(after, NOW + TEN, NEVER_READ).deadline == NOW + 2 * TEN


@pytest.mark.rule("rule 1")
def test_watch_of_machines_passes_its_looks_on_and_an_incident_counts_for_a_new_process() -> None:
    small, key = SmallClusterApi(), Key(cluster_api.NAMESPACE, "worker-1")
    name = TargetName(kind_name(MACHINES.group_kind), *key)

    def see(status: str, written: datetime, at: datetime) -> None:
        conditions = [condition("BootstrapReady", status, written)]
        raw = machine_object("worker-1", status={"conditions": conditions})
        small.join.target_changed(key, Machine.model_validate(raw), look(at))

    def match() -> Match:
        target = small.cluster_state.targets.at(name.place)["worker-1"]
        assert isinstance(target, ClusterApiTarget)
        return BY_CONDITION.matches(target, small.context)[0]

    see("True", NOW - HOUR, NOW - HOUR)
    see("False", NOW - 3 * HOUR, NOW)
    assert match().began == NOW
    counted = CountedFact(fact=match().fact, counted_from=NOW, as_of=NOW)

    small.join.target_changed(key, None)
    see("False", NOW - 3 * HOUR, NOW + MINUTE)
    assert match().began == NOW - 3 * HOUR, "a first look believes the time"
    small.join.count_on(name._replace(name="another"), counted)
    assert match().began == NOW - 3 * HOUR
    small.join.count_on(name, counted)
    assert (match().began, match().fact) == (NOW, counted.fact)
