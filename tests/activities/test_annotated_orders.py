"""An annotation that gives an order, on the real API server with the rights of the worker."""

from datetime import UTC, datetime

import pytest
from temporalio.testing import ActivityEnvironment

from activities.annotated_orders import AnswerOrder, LiveAnnotations, ReadOrder
from activities.event_recorder import EventRecorder
from devcluster.control_plane import ControlPlane
from devcluster.simulation.resources import NODE_HEALTH_CHECKS
from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK
from health.model.order_annotations import AnnotatedObject, AnnotatedOrderKey, digest_of
from health.runbook.annotated_order import LONGEST_VALUE
from kube.client import Client
from kube.connection import ClusterConnection
from kube.discovery import Discovery
from kube.errors import Invalid
from kube.resource import CONFIG_MAPS, EVENTS, NODES, Object, Resource, resource_of
from kube.transport import Transport
from objects.event import Severity
from tests.activities.machine_world import MachineWorld
from tests.activities.overtaken import PatchesAnswered
from tests.activities.reading_for import ReadingFor
from tests.activities.world import NAMESPACE, World
from workflows.annotated_order_contracts import (
    AnswerOrderInput,
    AnswerOrderResult,
    OrderAnswer,
    ReadOrderInput,
    ReadOrderResult,
    RemovalOutcome,
)

pytestmark = pytest.mark.cluster

HOLD = "paramedic.dev/hold"
VALUE = "replacing its disk"
TAKEN = OrderAnswer(severity=Severity.NORMAL, reason="OrderTaken", message="paramedic.dev/hold: done")


class Annotated:
    """One object with an order, and the activities with the rights of a process."""

    def __init__(
        self,
        administrator: Client,
        transport: Transport,
        of: Resource,
        found: Object,
        client: Client | None = None,
    ) -> None:
        self._administrator, self.of = administrator, of
        self.namespace = NAMESPACE if of.namespaced else ""
        group = of.api_version.rpartition("/")[0]
        metadata = found["metadata"]
        self.subject = AnnotatedObject(
            kind=of.kind, group=group, namespace=self.namespace, name=metadata["name"], uid=metadata["uid"]
        )
        client = client or Client(transport, "tests")
        connection = ClusterConnection(transport, client, Discovery(transport))
        objects = LiveAnnotations(connection)
        recorder = EventRecorder(client, "tests", lambda: datetime.now(UTC))
        self._read, self._answer = ReadOrder(objects).read_order, AnswerOrder(objects, recorder).answer_order

    def key(self, **changes: object) -> AnnotatedOrderKey:
        subject = self.subject.model_copy(update=changes)
        return AnnotatedOrderKey(cluster="lab", subject=subject, order="hold")

    async def annotate(self, value: str | None) -> None:
        body = {"metadata": {"annotations": {HOLD: value, "theirs": "kept"}}}
        await self._administrator.merge_patch(self.of, self.subject.name, body, self.namespace)

    async def annotations(self) -> dict[str, str]:
        found = await self._administrator.get(self.of, self.subject.name, self.namespace)
        annotations: dict[str, str] = found["metadata"]["annotations"]
        return annotations

    async def read(self, key: AnnotatedOrderKey) -> ReadOrderResult:
        return await ActivityEnvironment().run(self._read, ReadOrderInput(key=key))

    async def answer(
        self, key: AnnotatedOrderKey, value: str = VALUE, answer: OrderAnswer | None = TAKEN
    ) -> AnswerOrderResult:
        asked = AnswerOrderInput(key=key, digest=digest_of(value), seed=key.subject.uid, answer=answer)
        return await ActivityEnvironment().run(self._answer, asked)

    async def events(self) -> list[str]:
        events = await self._administrator.list(EVENTS, self.namespace or "default")
        uid = self.subject.uid
        return sorted(one["reason"] for one in events if one["involvedObject"].get("uid") == uid)


@pytest.fixture(params=["Node", "NodeHealthCheck", "Machine", "MachineHealthCheck"])
async def annotated(
    world: World,
    machine_world: MachineWorld,
    worker_transport: Transport,
    request: pytest.FixtureRequest,
) -> Annotated:
    machines, checks = resource_of(MACHINE_HEALTH_CHECK.targets), resource_of(MACHINE_HEALTH_CHECK)
    of = {"Node": NODES, "NodeHealthCheck": NODE_HEALTH_CHECKS, "Machine": machines}.get(
        request.param, checks
    )
    name = machine_world.name if of in (machines, checks) else world.name
    found = await world.client.get(of, name, NAMESPACE if of.namespaced else "")
    one = Annotated(world.client, worker_transport, of, found)
    await one.annotate(VALUE)
    return one


@pytest.fixture
async def node(world: World, worker_transport: Transport) -> Annotated:
    found = await world.client.get(NODES, world.name)
    one = Annotated(world.client, worker_transport, NODES, found)
    await one.annotate(VALUE)
    return one


async def test_order_is_read_with_its_manager_answered_by_an_event_and_removed(annotated: Annotated) -> None:
    key = annotated.key()
    read = await annotated.read(key)
    assert (read.digest, read.value, read.manager) == (digest_of(VALUE), VALUE, "paramedic")
    assert (await annotated.answer(key)).outcome == RemovalOutcome.GONE
    assert HOLD not in await annotated.annotations()
    assert (await annotated.annotations())["theirs"] == "kept"
    assert await annotated.events() == ["OrderTaken"]
    assert await annotated.read(key) == ReadOrderResult()
    assert (await annotated.answer(key)).outcome == RemovalOutcome.GONE
    assert await annotated.events() == ["OrderTaken"]


async def test_newer_value_is_kept(node: Annotated) -> None:
    await node.annotate("the disk came")
    assert (await node.answer(node.key())).outcome == RemovalOutcome.CHANGED
    assert (await node.annotations())[HOLD] == "the disk came"


async def test_object_of_another_uid_gives_no_order(node: Annotated) -> None:
    other = node.key(uid="other")
    assert await node.read(other) == ReadOrderResult()
    assert (await node.answer(other, answer=None)).outcome == RemovalOutcome.GONE
    assert (await node.annotations())[HOLD] == VALUE


async def test_value_that_is_too_long_is_cut_and_told_from_another_by_its_digest(node: Annotated) -> None:
    await node.annotate("x" * 9_000)
    read = await node.read(node.key())
    assert (len(read.value), read.digest) == (LONGEST_VALUE + 1, digest_of("x" * 9_000))


@pytest.mark.rule("rule 52")
async def test_no_other_kind_and_no_other_annotation_is_touched(node: Annotated, world: World) -> None:
    config_map = await world.client.create(CONFIG_MAPS, {"metadata": {"name": world.name}}, NAMESPACE)
    foreign = node.key(kind="ConfigMap", namespace=NAMESPACE, uid=config_map["metadata"]["uid"])
    assert "is no order" in (await node.read(foreign)).problem
    shadow = node.key().model_copy(update={"order": "shadow"})
    assert "is no order" in (await node.read(shadow)).problem
    kept = await node.answer(shadow, answer=None)
    assert (kept.outcome, "is no order" in kept.why) == (RemovalOutcome.KEPT, True)
    await world.client.delete(CONFIG_MAPS, world.name, NAMESPACE)


async def test_annotation_that_may_not_be_removed_stays_and_an_event_says_so(
    world: World, control_plane: ControlPlane
) -> None:
    found = await world.client.get(NODES, world.name)
    async with await Transport.connect(str(control_plane.detector_kubeconfig)) as transport:
        reader = ReadingFor(world.client, transport)
        node = Annotated(world.client, transport, NODES, found, reader)
        await node.annotate(VALUE)
        for _ in range(2):
            kept = await node.answer(node.key())
            assert kept.outcome == RemovalOutcome.KEPT
            assert "cannot patch resource" in kept.why
    assert (await node.annotations())[HOLD] == VALUE
    assert await node.events() == ["OrderAnnotationKept", "OrderTaken"]


@pytest.mark.parametrize("status", [400, 422])
async def test_annotation_that_an_admission_plugin_keeps_is_said_as_one_for_which_a_right_is_missing(
    world: World, worker_transport: Transport, status: int
) -> None:
    found = await world.client.get(NODES, world.name)
    client = PatchesAnswered(worker_transport, NODES, Invalid("denied", status=status))
    node = Annotated(world.client, worker_transport, NODES, found, client)
    await node.annotate(VALUE)
    assert (await node.answer(node.key())).outcome == RemovalOutcome.KEPT
    assert await node.events() == ["OrderAnnotationKept", "OrderTaken"]
