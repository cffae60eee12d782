"""For any objects in a cluster, each incident gets an answer without an error that a guard must catch."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeVar

import pytest
from hypothesis import given
from pydantic import BaseModel, ValidationError

from detector.answers.observation_builder import ObservationBuilder
from detector.answers.storms import Storms
from detector.attempts.attempts import Attempts
from detector.attempts.unrequested_ends import UnrequestedEnds
from detector.context.sources_of_checks import CheckFreshness
from detector.reporting.snapshot_builder import SnapshotBuilder
from detector.state.check_state import CheckRecord
from detector.state.cluster_state import ClusterState
from health.gate.back_off import RemediationBackOff
from health.kinds.nodehealthcheck.kind import NODE_HEALTH_CHECK
from health.model.node import Node
from health.model.observation import Observation
from health.model.remediation_request import RemediationRequest
from health.model.target import TargetName
from health.policy.policy import Policy
from kube.lease import CONTROL_PLANE_LOCK, LeaseRecord
from runtime.guard import Guard
from tests.health.test_parsers import METADATA, NODE, NODE_CHECK, REQUEST
from tests.support.state.small_cluster import CHECK, REQUEST_KIND
from tests.support.values.builders import NOW
from tests.support.values.extremes import mutated
from tests.support.values.leases import lease_object

pytestmark = pytest.mark.rule("rule 8/wire")

NAME = METADATA["name"]
LABELS = {"role": "worker", "zone": "a", "node-role.kubernetes.io/control-plane": ""}
OWNER = {"apiVersion": "remediation.medik8s.io/v1alpha1", "kind": CHECK.kind, "name": CHECK.name, "uid": "c"}
A_NODE: dict[str, Any] = NODE | {"metadata": METADATA | {"labels": LABELS}}
A_REQUEST: dict[str, Any] = REQUEST | {"metadata": REQUEST["metadata"] | {"ownerReferences": [OWNER]}}
LEASE = lease_object(f"NodeHealthCheck-{CHECK.name}")
FRESH = CheckFreshness()

Model = TypeVar("Model", bound=BaseModel)


class NoGuard(Guard):
    """Lets errors pass that a guard would catch."""

    def failed(self, part: str, name: str, error: Exception) -> None:  # noqa: ARG002  as a guard
        raise error


class Cluster:
    """A cluster state with all its listeners."""

    def __init__(self) -> None:
        self.now = NOW
        self.cluster_state = ClusterState("main-0a1b", NoGuard())
        self.attempts = Attempts(Policy, self.cluster_state, lambda: self.now)
        self.storms = Storms(self.cluster_state, lambda _: True, lambda: self.now)
        ends = UnrequestedEnds(self.cluster_state, self.attempts, lambda _: True, lambda: self.now)
        for handler in (self.storms, ends):
            self.cluster_state.event_handlers.add_change_handler(handler.changed)
        self.cluster_state.event_handlers.add_request_handler(self.attempts.request_changed)

    def fill(
        self,
        node: dict[str, Any] = A_NODE,
        lease: dict[str, Any] = LEASE,
        request: dict[str, Any] = A_REQUEST,
        check: dict[str, Any] = NODE_CHECK,
    ) -> None:
        """Pass these objects to the state as the reflectors do; objects that do not parse are left out."""
        put = self.cluster_state
        _read(CheckRecord, check, self._put_check)
        _read(LeaseRecord, lease, lambda one: put.lease_changed(f"node-{NAME}", one))
        _read(LeaseRecord, lease, lambda one: put.lease_changed(CONTROL_PLANE_LOCK, one))
        _read(Node, node, lambda one: put.target_changed(TargetName("Node", "", NAME), one))
        _read(RemediationRequest, request, lambda one: put.request_changed(*REQUEST_KIND, one, exists=True))

    def _put_check(self, check: CheckRecord) -> None:
        reference = CHECK.model_copy(update={"name": check.metadata.name})
        self.cluster_state.check_changed(NODE_HEALTH_CHECK, reference, check)

    def answers(self) -> list[Observation]:
        """The observation of each wanted incident, after rendering the report of its check."""
        found = []
        for incident in list(self.cluster_state.all_wanted()):
            target = self.cluster_state.targets.get(CHECK, incident.target.name)
            before: RemediationBackOff = self.attempts.before(TargetName.of(incident.target), target)
            self.storms.advance(incident.check)
            storm = self.storms.hold(incident.check)
            found.append(
                ObservationBuilder(
                    cluster_state=self.cluster_state,
                    incident=incident,
                    freshness=FRESH,
                    now=self.now,
                    storm=storm,
                    back_off=before,
                ).observation()
            )
        snapshot_builder = SnapshotBuilder(self.cluster_state, self.attempts.before)
        snapshot_builder.of(CHECK, self.storms.of(CHECK), self.now)
        return found


def _read(model: type[Model], body: dict[str, Any], put: Callable[[Model], object]) -> None:
    try:
        read = model.model_validate(body)
    except ValidationError:
        return
    put(read)


def assert_answers(cluster: Cluster) -> None:
    for now in (NOW, datetime(1971, 1, 1, tzinfo=UTC), datetime(7990, 1, 1, tzinfo=UTC)):
        cluster.now = now
        for answer in cluster.answers():
            assert Observation.model_validate_json(answer.model_dump_json()) == answer


def test_sound_objects_have_an_answer() -> None:
    cluster = Cluster()
    cluster.fill()

    assert len(cluster.answers()) == 2  # of the node, and of the request for an earlier node


@given(mutated(A_NODE))
def test_node(body: dict[str, Any]) -> None:
    cluster = Cluster()
    cluster.fill(node=body)
    assert_answers(cluster)


@given(mutated(LEASE))
def test_lease(body: dict[str, Any]) -> None:
    cluster = Cluster()
    cluster.fill(lease=body)
    assert_answers(cluster)


@given(mutated(A_REQUEST))
def test_request(body: dict[str, Any]) -> None:
    cluster = Cluster()
    cluster.fill(request=body)
    assert_answers(cluster)
    cluster.fill()
    assert_answers(cluster)


@given(mutated(NODE_CHECK))
def test_check(body: dict[str, Any]) -> None:
    cluster = Cluster()
    cluster.fill(check=body)
    assert_answers(cluster)
    cluster.fill()
    assert_answers(cluster)
