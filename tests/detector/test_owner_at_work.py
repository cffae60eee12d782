"""An owner that works on a target holds it for a time: each sign, over targets of each kind of check."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from detector.reporting.snapshot_builder import SnapshotBuilder
from health.cluster.cluster_context import ClusterContext
from health.cluster.upgrade import ClusterUpgrades, PauseProgress, Signaller, Upgrade, UpgradePhase
from health.gate.back_off import NO_BACK_OFF
from health.kinds.clusterapi.kind import CLUSTER_API_MACHINE_HEALTH_CHECK
from health.kinds.clusterapi.machine import MACHINES, Machine
from health.kinds.nodehealthcheck.kind import NODE_HEALTH_CHECK
from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK
from health.kinds.registry import CHECK_KINDS
from health.model.node import Node
from health.model.observation import HoldReason, Observation, TargetState
from health.model.owner_signs import OwnerSign
from health.model.references import kind_name
from health.model.sighting import Look
from health.model.target import TargetName, node_name
from health.model.verdict import CountedFact
from health.policy.held_nodes import HeldNodes
from health.policy.policy import Policy
from health.policy.policy_in_force import PolicyInForce
from health.runbook.learn import learned
from health.runbook.state import Memory
from kube.record import Key
from objects.clusters import MANAGEMENT_CLUSTER
from objects.timestamps import stamp
from tests.support.state.small_cluster import SmallCluster
from tests.support.state.small_cluster_api import EDGE, SmallClusterApi, machine_object
from tests.support.state.small_machines import SmallMachines
from tests.support.state.small_state import SmallState
from tests.support.values.builders import MINUTE, NOW, condition, node_object
from tests.support.values.cluster_api import NAMESPACE

pytestmark = pytest.mark.rule("rule 59")

HOUR, TIMER = timedelta(hours=1), 5 * MINUTE
CONFIG = "machineconfiguration.openshift.io"
CHANGING = {f"{CONFIG}/currentConfig": "a", f"{CONFIG}/desiredConfig": "b", f"{CONFIG}/state": "Working"}


@dataclass
class Shown:
    """The parts of a Node or Machine that are a sign."""

    metadata: dict[str, Any] = field(default_factory=dict)
    taints: tuple[str, ...] = ()
    updating: str = ""
    """The reason of the condition Updating of a Machine of Cluster API."""


SIGNS: dict[str, Shown] = {
    OwnerSign.NODE_DELETION: Shown({"deletionTimestamp": stamp(NOW)}),
    OwnerSign.CLUSTER_AUTOSCALER: Shown(taints=("ToBeDeletedByClusterAutoscaler",)),
    OwnerSign.KARPENTER: Shown(taints=("karpenter.sh/disrupted",)),
    OwnerSign.CLOUD_SHUTDOWN: Shown(taints=("node.cloudprovider.kubernetes.io/shutdown",)),
    OwnerSign.KURED: Shown({"annotations": {"weave.works/kured-reboot-in-progress": stamp(NOW)}}),
    OwnerSign.MACHINE_CONFIG: Shown({"annotations": CHANGING}),
    OwnerSign.MACHINE_UPDATE: Shown(updating="InPlaceUpdating"),
    "taint example.com/reboot": Shown(taints=("example.com/reboot",)),
}
FAILED: dict[str, Shown] = {
    OwnerSign.MACHINE_CONFIG: Shown({"annotations": {**CHANGING, f"{CONFIG}/state": "Degraded"}}),
    OwnerSign.MACHINE_UPDATE: Shown(updating="InPlaceUpdateFailed"),
}
KINDS: dict[Any, tuple[Callable[[], SmallState], str, str]] = {
    NODE_HEALTH_CHECK: (SmallCluster, "Unknown", MANAGEMENT_CLUSTER),
    MACHINE_HEALTH_CHECK: (SmallMachines, "Unknown", MANAGEMENT_CLUSTER),
    CLUSTER_API_MACHINE_HEALTH_CHECK: (SmallClusterApi, "False", EDGE),
}
"""For each kind of check: a state, the status of Ready that fails, and the cluster of the Nodes."""


class World:
    """A check with one target `m`, which is healthy at NOW, and fails and shows a sign right after it."""

    def __init__(self, kind: Any, **policy: Any) -> None:
        make, self.failed, self.cluster = KINDS[kind]
        self.state = make()
        self.put_policy(**policy)
        self.state.check(**self.state.without_threshold)
        if isinstance(self.state, SmallMachines):
            self.state.machine("m", node="m")
        self.ready = "True"
        self.look(Shown())
        self.ready = self.failed

    @property
    def context(self) -> ClusterContext:
        return self.state.cluster_state.cluster_context

    def put_policy(self, **policy: Any) -> None:
        held = HeldNodes.model_validate({"signs": ["example.com/reboot"], **policy})
        in_force = PolicyInForce(policy=Policy(held_nodes=held))
        self.state.cluster_state.take_context(replace(self.context, policy=in_force))

    def look(self, shown: Shown, *, after: timedelta = timedelta()) -> Observation:
        """Look at what the target shows `after` NOW; returns the observation of its incident."""
        self.state.now = NOW + after
        metadata = {"labels": {"role": "worker"}, "name": "m", "uid": "uid-m", **shown.metadata}
        body = node_object(condition("Ready", self.ready, NOW), **metadata)
        body["spec"] = {"taints": [{"key": key} for key in shown.taints]}
        node = Node.model_validate(body).seen_after(self.node, Look(self.state.now))
        self.put_node(node)
        if isinstance(self.state, SmallClusterApi):
            updating = condition("Updating", "True", NOW) | {"reason": shown.updating}
            raw = machine_object("m", status={"conditions": [updating] if shown.updating else []})
            machine = Machine.model_validate(raw)
            self.state.join.target_changed(Key(NAMESPACE, "m"), machine, Look(self.state.now))
        return self.at(after)

    @property
    def node(self) -> Node | None:
        stored = self.state.cluster_state.targets.at(node_name("m", self.cluster).place).get("m")
        return None if stored is None else stored.node

    def put_node(self, node: Node | None) -> None:
        name = node_name("m", self.cluster)
        self.state.cluster_state.target_changed(name, node)
        if isinstance(self.state, SmallMachines | SmallClusterApi):
            self.state.join.node_changed(name)

    def forget(self) -> None:
        if isinstance(self.state, SmallClusterApi):
            self.state.join.target_changed(Key(NAMESPACE, "m"), None)
        self.put_node(None)

    def count_on(self, counted: CountedFact) -> None:
        assert self.node is not None
        self.put_node(counted.on(self.node, "Ready"))
        if isinstance(self.state, SmallClusterApi):
            name = TargetName(kind_name(MACHINES.group_kind), NAMESPACE, "m")
            self.state.join.count_on(name, counted)

    def at(self, after: timedelta) -> Observation:
        self.state.now = NOW + after
        return self.state.observe("m")


def reason_of(seen: Observation) -> str | None:
    return None if seen.hold is None else seen.hold.reason


def remaining(seen: Observation) -> tuple[str, int]:
    return seen.state, round(seen.remaining_seconds)


def pairs(signs: dict[str, Shown]) -> list[Any]:
    return [
        pytest.param(kind, name, shown, id=f"{kind.resource_name}-{name}")
        for kind in KINDS
        for name, shown in signs.items()
        if name != OwnerSign.MACHINE_UPDATE or kind is CLUSTER_API_MACHINE_HEALTH_CHECK
    ]


EACH = pytest.mark.parametrize(("kind", "name", "shown"), pairs(SIGNS))


def test_every_kind_and_every_sign_is_in_the_tables() -> None:
    assert set(KINDS) == set(CHECK_KINDS.values())
    assert frozenset(OwnerSign) <= set(SIGNS)


@EACH
def test_owner_at_work_holds_its_target_for_an_hour_and_timers_restart_then(
    kind: Any, name: str, shown: Shown
) -> None:
    world = World(kind)
    world.look(shown, after=timedelta(seconds=1))

    held = world.at(TIMER + MINUTE)
    assert (held.state, reason_of(held)) == (TargetState.EXPIRED, HoldReason.OWNER_AT_WORK)
    assert held.hold is not None
    assert round(held.hold.ask_again_seconds) == (HOUR - TIMER - MINUTE).total_seconds() + 1
    assert "it is left alone until 2026-03-01T13:00:0" in held.hold.message

    restarted = world.at(HOUR + timedelta(seconds=1))
    assert (remaining(restarted), reason_of(restarted)) == ((TargetState.WAITING, 300), None)
    due = world.at(HOUR + TIMER + timedelta(seconds=2))
    assert (due.may_be_admitted, due.passed_signs) == (True, (name,))


@EACH
def test_timers_restart_when_the_owner_is_done(kind: Any, name: str, shown: Shown) -> None:  # noqa: ARG001  as EACH
    world = World(kind)
    world.look(shown, after=timedelta(seconds=1))
    done = world.look(Shown(), after=20 * MINUTE)

    assert (remaining(done), reason_of(done)) == ((TargetState.WAITING, 300), None)
    due = world.at(26 * MINUTE)
    assert (due.may_be_admitted, due.passed_signs) == (True, ())


@pytest.mark.rule("rule 1")
@EACH
def test_new_process_does_not_give_the_owner_another_hour(kind: Any, name: str, shown: Shown) -> None:
    world = World(kind)
    seen = world.look(shown, after=timedelta(seconds=1))
    counted = learned(Memory(), seen, NOW).counted
    assert counted is not None
    assert [sign.name for sign in counted.signs] == [name]

    world.forget()
    world.look(shown, after=40 * MINUTE)
    world.count_on(counted)
    assert reason_of(world.at(HOUR - timedelta(seconds=1))) == HoldReason.OWNER_AT_WORK
    due = world.at(HOUR + TIMER + timedelta(seconds=2))
    assert (due.may_be_admitted, due.passed_signs) == (True, (name,))


@pytest.mark.parametrize(("kind", "name", "shown"), pairs(FAILED))
def test_owner_that_says_that_it_failed_is_not_waited_for(kind: Any, name: str, shown: Shown) -> None:
    world = World(kind)
    world.look(SIGNS[name], after=timedelta(seconds=1))
    failed = world.look(shown, after=10 * MINUTE)

    assert (remaining(failed), reason_of(failed)) == ((TargetState.WAITING, 300), None)
    assert world.at(16 * MINUTE).may_be_admitted


@EACH
def test_policy_leaves_out_a_sign_or_waits_for_it_as_long_as_it_says(
    kind: Any, name: str, shown: Shown
) -> None:
    without = {"signs": []} if name not in frozenset(OwnerSign) else {"without": [name]}
    world = World(kind, **without)
    assert world.look(shown, after=timedelta(seconds=1)).hold is None
    assert world.at(TIMER + MINUTE).may_be_admitted

    world.put_policy(atMost="2h")
    assert reason_of(world.at(HOUR + 30 * MINUTE)) == HoldReason.OWNER_AT_WORK
    assert remaining(world.at(2 * HOUR + timedelta(seconds=1))) == (TargetState.WAITING, 300)


@pytest.mark.rule("MHC C.2/paused pools", "NHC 1.7/machineconfiguration")
@pytest.mark.parametrize("kind", KINDS)
def test_owner_that_works_on_one_target_holds_no_other(kind: Any) -> None:
    world = World(kind)
    world.look(SIGNS[OwnerSign.MACHINE_CONFIG], after=timedelta(seconds=1))
    world.state.unhealthy("other")
    world.state.now = NOW + TIMER + MINUTE

    assert world.state.observe("other").may_be_admitted
    assert reason_of(world.state.observe("m")) == HoldReason.OWNER_AT_WORK


@pytest.mark.parametrize(
    ("name", "holds"), [(name, name not in {"NodeDeletion", "CloudShutdown"}) for name in OwnerSign]
)
def test_next_step_is_held_by_the_signs_that_no_remediator_causes(name: str, holds: bool) -> None:  # noqa: FBT001  a column
    if name == OwnerSign.MACHINE_UPDATE:
        return
    world = World(NODE_HEALTH_CHECK)
    assert isinstance(world.state, SmallCluster)
    world.state.request("m")
    world.look(SIGNS[name], after=timedelta(seconds=1))
    assert (reason_of(world.at(TIMER + MINUTE)) == HoldReason.OWNER_AT_WORK) is holds


def test_node_that_is_being_deleted_counts_in_no_threshold_and_blocks_no_other() -> None:
    world = World(NODE_HEALTH_CHECK)
    world.state.check(minHealthy="50%")
    world.state.unhealthy("failed")
    assert isinstance(world.state, SmallCluster)
    for name in ("b", "c"):
        world.state.node(name)
    world.look(Shown())
    assert world.state.numbers() == (2, 4)

    world.look(SIGNS[OwnerSign.NODE_DELETION], after=timedelta(seconds=1))
    assert world.state.numbers() == (2, 3)
    assert world.state.notified[-1] is None
    world.state.now = NOW + TIMER + MINUTE
    assert world.state.observe("failed").may_be_admitted
    assert "m" in world.state.wanted()


@pytest.mark.rule("rule 46")
def test_administrator_who_unpauses_a_check_in_an_upgrade_wants_nodes_remediated_that_hang_in_it() -> None:
    world = World(MACHINE_HEALTH_CHECK)
    world.look(SIGNS[OwnerSign.MACHINE_CONFIG], after=timedelta(seconds=1))
    upgrade = Upgrade(phase=UpgradePhase.UNDER_WAY, since=NOW, sign="Progressing=True")
    handled = PauseProgress(transitions=(NOW,), handled_until=NOW)
    world.state.cluster_state.take_context(replace(world.context, upgrade=upgrade, upgrade_pause=handled))

    due = world.at(TIMER + MINUTE)
    assert (due.may_be_admitted, due.passed_signs) == (True, (OwnerSign.MACHINE_CONFIG,))

    ended = replace(upgrade, phase=UpgradePhase.OVER, since=NOW - HOUR)
    world.state.cluster_state.take_context(replace(world.context, upgrade=ended))
    assert reason_of(world.at(TIMER + MINUTE)) == HoldReason.OWNER_AT_WORK


@pytest.mark.parametrize("kind", KINDS)
def test_snapshot_of_the_target_says_who_works_on_it_and_who_takes_too_long(kind: Any) -> None:
    world = World(kind)
    world.look(SIGNS[OwnerSign.KARPENTER], after=timedelta(seconds=1))
    builder = SnapshotBuilder(world.state.cluster_state, lambda *_: NO_BACK_OFF)

    def seen(now: datetime) -> tuple[str | None, datetime | None, int]:
        snapshot = builder.of(world.state.named(), None, now)
        assert snapshot is not None
        target = snapshot.targets["m"]
        return target.owner_sign, target.owner_until, len(target.overdue)

    until = NOW + HOUR + timedelta(seconds=1)
    assert seen(NOW + TIMER + MINUTE) == (OwnerSign.KARPENTER, until, 0)
    assert seen(until) == (None, None, 1)


CONTROL_PLANE = {
    "apiVersion": "controlplane.cluster.x-k8s.io/v1beta2",
    "kind": "KubeadmControlPlane",
    "name": "edge",
    "uid": "control-plane-uid",
    "controller": True,
}
KCP, CLUSTER = Signaller("KubeadmControlPlane", "edge"), Signaller("Cluster", "edge")
WORKERS = Signaller("MachineDeployment", "workers")
MACHINE_SET = CONTROL_PLANE | {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineSet"}


@pytest.mark.rule("rule 60", "rule 38/cluster")
@pytest.mark.parametrize(
    ("owner", "node", "signallers", "is_held"),
    [
        pytest.param(CONTROL_PLANE, "m", {KCP}, False, id="its own control plane"),
        pytest.param(CONTROL_PLANE, "m", {CLUSTER}, False, id="its Cluster"),
        pytest.param(CONTROL_PLANE, "m", {KCP, CLUSTER}, False, id="both"),
        pytest.param(CONTROL_PLANE, "m", {KCP, WORKERS}, True, id="workers as well"),
        pytest.param(CONTROL_PLANE, "m", {KCP._replace(name="other")}, True, id="another control plane"),
        pytest.param(CONTROL_PLANE | {"controller": False}, "m", {KCP}, True, id="not its controller"),
        pytest.param(MACHINE_SET, "m", {KCP}, True, id="a worker"),
        pytest.param(MACHINE_SET | {"kind": "KubeadmControlPlane"}, "m", {KCP}, True, id="not of the group"),
        pytest.param(MACHINE_SET, "", {KCP}, False, id="a worker that never joined"),
        pytest.param(MACHINE_SET, "", {WORKERS, CLUSTER}, False, id="it never joined, by any rollout"),
        pytest.param(CONTROL_PLANE, "", {KCP}, False, id="a new member that never joined"),
    ],
)
def test_rollout_holds_no_machine_that_it_waits_for(
    owner: dict[str, Any],
    node: str,
    signallers: set[Signaller],
    is_held: bool,  # noqa: FBT001  a column
) -> None:
    state = SmallClusterApi()
    state.check()
    raw = machine_object("m", ownerReferences=[owner])
    raw["status"]["nodeRef"] = {"name": node}
    state.machine(raw)
    state.node("m", "False")
    rolling = Upgrade(phase=UpgradePhase.UNDER_WAY, since=NOW, sign="it", signallers=frozenset(signallers))
    upgrades = ClusterUpgrades({EDGE: rolling})
    state.cluster_state.take_context(replace(state.context, cluster_upgrades=upgrades))
    state.now = NOW + HOUR

    seen = state.observe("m")
    assert (reason_of(seen), seen.may_be_admitted) == (
        (HoldReason.UPGRADING, False) if is_held else (None, True)
    )
    of_all = replace(state.context, upgrade=rolling)
    state.cluster_state.take_context(of_all)
    assert reason_of(state.observe("m")) == HoldReason.UPGRADING
    unknown = ClusterUpgrades({EDGE: rolling}, Upgrade(phase=UpgradePhase.UNKNOWN, why_unknown="unreadable"))
    state.cluster_state.take_context(replace(of_all, upgrade=Upgrade(), cluster_upgrades=unknown))
    assert seen.state is TargetState.EXPIRED
    assert state.observe("m").hold is not None
