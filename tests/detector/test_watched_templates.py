"""Which templates the webhook may know from the detector's watches, on a real API server."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import timedelta

import pytest

from detector.feeds.kind_watch import Kind
from detector.feeds.remediation_kinds import RemediationKinds
from detector.nodehealthcheck.webhook import AdmissionFacts
from detector.state.check_state import CheckRecord
from detector.state.cluster_state import ClusterState
from devcluster.control_plane import ControlPlane
from devcluster.manifests import ROOT
from devcluster.polling import until
from health.kinds.nodehealthcheck.admission_review import CheckOperation, Facts, Operation
from health.kinds.nodehealthcheck.kind import NODE_HEALTH_CHECK
from health.model.references import CheckReference
from health.model.remediation_request import MULTIPLE_TEMPLATES
from kube.client import Client
from kube.connection import ClusterConnection
from kube.errors import KubernetesError
from kube.resource import Object
from kube.transport import Transport
from tests.support.api.eventually import eventually
from tests.support.cluster.kubectl import kubectl
from tests.support.story.other_kind import OtherKind
from tests.support.values.builders import check_object

pytestmark = [pytest.mark.cluster, pytest.mark.rule("NHC 1.1/webhook/same kind")]

LIMIT = timedelta(minutes=1)
RIGHTS_OF_THE_WEBHOOK = ROOT / "deploy" / "components" / "webhook" / "rbac.yaml"


class Detector:
    """The watches of a detector with one check, which has two steps of one kind, and its webhook."""

    def __init__(self, transport: Transport, other: OtherKind) -> None:
        steps = [
            {"remediationTemplate": other.template | {"name": name}, "order": order, "timeout": "60s"}
            for order, name in enumerate(("reset", "hard"))
        ]
        self.check = check_object(remediationTemplate=None, escalatingRemediations=steps)
        self.kind: Kind = (other.api_version, other.templates.kind)
        cluster_state = ClusterState("test")
        self.reference = CheckReference(kind=NODE_HEALTH_CHECK.kind, name="workers")
        cluster_state.check_changed(NODE_HEALTH_CHECK, self.reference, CheckRecord.model_validate(self.check))
        connection = ClusterConnection.over(transport)
        self.kinds = RemediationKinds(connection, cluster_state)
        self._facts = AdmissionFacts(connection, lambda kind: self.kinds.watched_templates(kind, LIMIT))

    def names(self, limit: timedelta = LIMIT) -> set[str] | None:
        """The templates that are known without a request."""
        found = self.kinds.watched_templates(self.kind, limit)
        return None if found is None else {template.metadata.name for template in found}

    async def facts(self) -> Facts:
        return await self._facts.of(CheckOperation(Operation.UPDATE, new=self.check, old=self.check))

    async def can_answer(self) -> bool:
        """True if it has the rights of a webhook."""
        try:
            await self.facts()
        except KubernetesError:
            return False
        return True

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            self.kinds.check_changed(self.reference, tasks)


@pytest.fixture
async def admin(control_plane: ControlPlane) -> AsyncIterator[Client]:
    async with await Transport.connect(str(control_plane.kubeconfig)) as transport:
        yield Client(transport)


@pytest.fixture
async def other(admin: Client) -> OtherKind:
    """Two templates, both of which allow several requests."""
    made = OtherKind(admin)
    await made.install()
    annotations = {MULTIPLE_TEMPLATES: ""}
    body: Object = {
        "apiVersion": made.api_version,
        "kind": made.templates.kind,
        "metadata": {"name": "hard", "annotations": annotations},
    }
    await admin.create(made.templates, body, "default")
    await admin.merge_patch(made.templates, "reset", {"metadata": {"annotations": annotations}}, "default")
    return made


@pytest.fixture
async def detector(control_plane: ControlPlane, other: OtherKind) -> AsyncIterator[Detector]:
    async with await Transport.connect(str(control_plane.detector_kubeconfig)) as transport:
        made = Detector(transport, other)
        running = asyncio.create_task(made.run())
        yield made
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running


async def test_templates_are_known_where_a_watch_shows_all_of_them_and_is_fresh(
    detector: Detector, other: OtherKind, caplog: pytest.LogCaptureFixture
) -> None:
    await detector.kinds.wait_tried()
    assert detector.names() is None
    said = {(record.message, getattr(record, "part", "")) for record in caplog.records}
    assert ("checks are held", f"templates of kind ResetTemplate ({other.api_version})") in said
    assert detector.kinds.watched_templates(("nobody.example.com/v1", "NamesThisTemplate"), LIMIT) is None
    await other.grant()

    await eventually(lambda: detector.names() == {"reset", "hard"})
    assert detector.names(timedelta()) is None


async def test_steps_of_one_kind_are_taken_where_the_named_templates_may_be_read_but_not_listed(
    detector: Detector, other: OtherKind, admin: Client, control_plane: ControlPlane
) -> None:
    status, said = await kubectl(control_plane.kubeconfig, "apply", "-f", str(RIGHTS_OF_THE_WEBHOOK))
    assert status == 0, said
    await until(detector.can_answer, within=timedelta(seconds=60), otherwise="topology is never readable")
    await other.grant("get")

    async def takes_both() -> bool:
        return await detector.facts() == Facts()

    await until(takes_both, within=timedelta(seconds=60), otherwise="it is refused for ever")
    assert detector.names() is None
    await admin.merge_patch(other.templates, "hard", {"metadata": {"annotations": None}}, "default")
    assert await detector.facts() == Facts(single_template_kinds=frozenset({detector.kind}))
