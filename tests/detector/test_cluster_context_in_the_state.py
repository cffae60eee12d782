"""When the cluster context changes, which incidents a change notifies, and their observations after it."""

import asyncio
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest

from detector.answers.judged_target import check_holds
from detector.feeds.cluster_context_watch import ClusterContextWatch
from detector.nodehealthcheck.kind import MACHINE_HEALTH_CHECKS
from detector.reporting.snapshot_builder import SnapshotBuilder
from detector.state.check_state import CheckRecord, CheckState
from detector.state.cluster_state import ClusterState
from health.check.template_validity import Template, TemplateKind, TemplateKinds
from health.cluster.cluster_context import ClusterContext
from health.cluster.global_stop import STOP, Stop
from health.cluster.upgrade import Upgrade, UpgradePhase
from health.gate.back_off import NO_BACK_OFF, RemediationBackOff
from health.kinds.nodehealthcheck.disabled import CONFLICT, OtherChecks
from health.kinds.nodehealthcheck.kind import NODE_HEALTH_CHECK
from health.model.node import Node
from health.model.references import CheckReference
from health.model.target import TargetName
from health.model.verdict import Health
from kube.connection import ClusterConnection
from kube.resource import NAMESPACES, Object, Resource
from kube.transport import Transport
from objects.group_kind import GroupKind
from tests.support.api.api_server import ApiServer, LiveWatch, lines, said
from tests.support.api.eventually import eventually
from tests.support.values.builders import EMPTY_CONTEXT, NOW, TEMPLATE, check_object, condition, node

WORKERS = CheckReference(kind="NodeHealthCheck", name="workers")
LATER = NOW + timedelta(hours=1)
STOPPED = ClusterContext(stop=Stop("power work"))
TERMINATING_ONLY = ClusterContext(of_kinds={NODE_HEALTH_CHECK.group_kind: OtherChecks.TERMINATING_ONLY})


def none_before(_name: TargetName, _target: object) -> RemediationBackOff:
    return NO_BACK_OFF


class World:
    """A cluster state with one check; it records the notifications."""

    def __init__(self, **spec: Any) -> None:
        self.template_kinds: TemplateKinds = lambda *_: None
        self.cluster_state = ClusterState("test", template_kinds=self._template_kind)
        self.told: list[str | None] = []
        record = CheckRecord.model_validate(check_object(minHealthy=0, **spec))
        self.cluster_state.check_changed(NODE_HEALTH_CHECK, WORKERS, record)
        self.cluster_state.event_handlers.add_change_handler(lambda _, target: self.told.append(target))

    def _template_kind(self, api_version: str, kind: str) -> TemplateKind | None:
        return self.template_kinds(api_version, kind)

    def see(self, name: str, *conditions: dict[str, Any]) -> None:
        self.cluster_state.target_changed(TargetName("Node", "", name), _node(name, *conditions))
        self.told.clear()


def _node(name: str, *conditions: dict[str, Any], **metadata: Any) -> Node:
    return node(*conditions, labels={"role": "worker"}, name=name, uid=f"uid-{name}", **metadata)


FAILED = condition("Ready", "False")


@pytest.fixture
def world() -> World:
    made = World()
    made.see("healthy", condition("Ready", "True"))
    made.see("failed-1", FAILED)
    made.see("failed-2", FAILED)
    return made


@pytest.mark.rule("rule 42", "rule 6")
def test_change_around_tells_the_check_and_its_unhealthy_targets_once(world: World) -> None:
    world.cluster_state.take_context(STOPPED)
    assert sorted(world.told, key=str) == [None, "failed-1", "failed-2"]

    world.told.clear()
    world.cluster_state.take_context(ClusterContext(stop=Stop("power work")))
    assert world.told == []


def test_nodes_that_a_check_does_not_select_are_not_judged(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged: list[str] = []
    see = CheckState.see

    def counting(check: CheckState, name: str, *known: Any) -> bool:
        judged.append(name)
        return see(check, name, *known)

    monkeypatch.setattr(CheckState, "see", counting)
    for number in range(20):
        other = node(FAILED, name=f"other-{number}", uid=f"uid-{number}")
        world.cluster_state.target_changed(TargetName("Node", "", other.metadata.name), other)
    assert judged == []

    world.cluster_state.take_context(TERMINATING_ONLY)
    assert sorted(judged) == ["failed-1", "failed-2", "healthy"]


@pytest.mark.rule("NHC 2.1/4", "rule 17")
def test_node_that_is_left_to_a_machine_health_check_counts_as_healthy_and_is_reported(world: World) -> None:
    world.see("failed-1", FAILED, condition("Terminating", "False"))
    world.cluster_state.take_context(TERMINATING_ONLY)

    assert "failed-1" in world.told
    seen = SnapshotBuilder(world.cluster_state, none_before).of(WORKERS, None, LATER)
    assert seen is not None
    assert seen.allowance is not None
    assert (seen.allowance.total, seen.allowance.healthy) == (3, 2)
    assert set(seen.targets) == {"failed-2"}

    world.cluster_state.take_context(EMPTY_CONTEXT)
    assert world.cluster_state.checks[WORKERS].unhealthy == {"failed-1", "failed-2"}


@pytest.mark.rule("NHC 2.1/4", "rule 17")
def test_conflict_disables_the_check_and_numbers_stay_true(world: World) -> None:
    world.cluster_state.take_context(
        ClusterContext(of_kinds={NODE_HEALTH_CHECK.group_kind: OtherChecks.OTHERS})
    )
    seen = SnapshotBuilder(world.cluster_state, none_before).of(WORKERS, None, LATER)

    assert seen is not None
    assert seen.holds.problem == CONFLICT
    assert seen.allowance is not None
    assert (seen.allowance.total, seen.allowance.healthy) == (3, 1)


@pytest.mark.rule("rule 37")
def test_deadlines_that_are_published_restart_at_the_end_of_an_upgrade(world: World) -> None:
    def verdicts() -> set[Health]:
        seen = SnapshotBuilder(world.cluster_state, none_before).of(WORKERS, None, LATER)
        assert seen is not None
        return {target.verdict.health for target in seen.targets.values()}

    assert verdicts() == {Health.EXPIRED}
    world.cluster_state.take_context(ClusterContext(upgrade=Upgrade(phase=UpgradePhase.OVER, since=LATER)))
    assert verdicts() == {Health.WAITING}


@pytest.mark.rule("NHC 2.0/template", "NHC 2.1/5")
def test_change_of_a_template_tells_the_checks_of_its_kind_alone(world: World) -> None:
    world.cluster_state.templates_changed(TEMPLATE["apiVersion"], "PowerTemplate")
    world.cluster_state.templates_changed("example.com/v2", TEMPLATE["kind"])
    assert world.told == []

    world.cluster_state.templates_changed(TEMPLATE["apiVersion"], TEMPLATE["kind"])
    assert sorted(world.told, key=str) == [None, "failed-1", "failed-2"]


@pytest.mark.rule("NHC 2.1/5", "NHC 2.1/6")
def test_problem_of_a_template_is_there_for_as_long_as_the_template_is_bad(world: World) -> None:
    known: dict[Any, Template] = {}
    world.template_kinds = lambda *_: TemplateKind(templates=known)
    missing = check_holds(world.cluster_state, WORKERS, LATER).problem
    assert missing is not None
    assert missing.reason == "RemediationTemplateNotFound"

    metadata = {"name": TEMPLATE["name"], "namespace": TEMPLATE["namespace"], "uid": "u"}
    made = Template.model_validate({"metadata": metadata, "spec": {"template": {"spec": {}}}})
    known[TEMPLATE["namespace"], TEMPLATE["name"]] = made
    assert check_holds(world.cluster_state, WORKERS, LATER).problem is None


NAMESPACE = "leases"


def changed(change: str, name: str, version: int, spec: Object | None = None, stop: str = "") -> Object:
    metadata = {
        "name": name,
        "uid": "u",
        "resourceVersion": str(version),
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "annotations": {STOP: stop} if stop else {},
    }
    return {"type": change, "object": {"metadata": metadata, "spec": spec or {}}}


async def contexts(
    server: ApiServer, transport: Transport, resource: Resource, *changes: Object
) -> list[tuple[Stop | None, dict[GroupKind, Any]]]:
    """The global stop and the contexts of kinds after each of these watch events."""
    watch = LiveWatch()
    for watched in (NAMESPACES, MACHINE_HEALTH_CHECKS):
        server.answer("GET", watched.path(), said({"metadata": {"resourceVersion": "10"}, "items": []}))
        server.watch(watched.path(), watch if watched == resource else lines(then="silent"))
    noted: list[tuple[Stop | None, dict[GroupKind, Any]]] = []
    context = ClusterContextWatch(
        ClusterConnection.over(transport),
        NAMESPACE,
        (),
        (NODE_HEALTH_CHECK.group_kind,),
        lambda: noted.append((context.stop(), context.of_kinds())),
    )
    running = [asyncio.create_task(source.run()) for source in context.sources.values()]
    for change in changes:
        watch.send(change)
        before = len(noted)
        await eventually(lambda: len(noted) > before)  # noqa: B023  it ends in this turn
    for task in running:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
    return noted


@pytest.mark.rule("rule 42")
async def test_annotation_stops_from_when_it_is_put_on_until_it_is_taken_off(
    server: ApiServer, transport: Transport
) -> None:
    noted = await contexts(
        server,
        transport,
        NAMESPACES,
        changed("ADDED", NAMESPACE, 11),
        changed("MODIFIED", NAMESPACE, 12, stop="power work in row 7"),
        changed("MODIFIED", NAMESPACE, 13),
    )
    stops = [stop.words if stop else "" for stop, _ in noted]
    assert stops == ["", "stopped in the whole cluster: power work in row 7", ""]


@pytest.mark.rule("NHC 2.0/MachineHealthChecks", "NHC 2.1/4")
async def test_conflict_lasts_from_when_a_machine_health_check_is_made_until_it_is_deleted(
    server: ApiServer, transport: Transport
) -> None:
    terminating: dict[str, Any] = {"unhealthyConditions": [{"type": "Terminating"}]}
    noted = await contexts(
        server,
        transport,
        MACHINE_HEALTH_CHECKS,
        changed("ADDED", "termination", 11, terminating),
        changed("ADDED", "workers", 12, {"unhealthyConditions": [{"type": "Ready"}]}),
        changed("DELETED", "workers", 13, {"unhealthyConditions": [{"type": "Ready"}]}),
    )
    assert [of_kinds[NODE_HEALTH_CHECK.group_kind] for _, of_kinds in noted] == [
        OtherChecks.TERMINATING_ONLY,
        OtherChecks.OTHERS,
        OtherChecks.TERMINATING_ONLY,
    ]
