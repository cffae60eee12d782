"""Requests whose owner or target somebody edits are in one place of the cluster state, and nowhere else."""

import pytest

from detector.state.request_index import RequestIndex, seen
from health.model.references import CheckReference
from health.model.remediation_request import NODE_NAME, RemediationRequest
from tests.detector.small_cluster import CHECK, REQUEST_KIND, SmallCluster


def request(target: str, owner: str = "workers") -> RemediationRequest:
    owned_by = {
        "apiVersion": "remediation.medik8s.io/v1alpha1",
        "kind": "NodeHealthCheck",
        "name": owner,
        "uid": f"uid-{owner}",
    }
    metadata = {
        "name": "node-1",
        "namespace": "remediators",
        "uid": "request-1",
        "creationTimestamp": "2026-03-01T12:00:00Z",
        "annotations": {NODE_NAME: target},
        "ownerReferences": [owned_by] if owner else [],
    }
    return RemediationRequest.model_validate({"metadata": metadata})


@pytest.mark.rule("NHC 1.7/node-name")
def test_request_that_is_edited_to_be_of_another_node_leaves_nothing_behind() -> None:
    index = RequestIndex()
    index.put(seen(*REQUEST_KIND, request("node-1")))
    index.put(seen(*REQUEST_KIND, request("node-9")))

    assert index.targets_of(CHECK) == {"node-9"}
    assert not list(index.for_target("node-1"))
    index.remove(seen(*REQUEST_KIND, request("node-5")))
    assert not list(index.all())
    assert not index.owners()


@pytest.mark.rule("NHC 2.8/deletion")
def test_check_that_owns_a_request_no_more_is_told() -> None:
    told: list[tuple[CheckReference, str | None]] = []
    cluster_state = SmallCluster().cluster_state
    cluster_state.request_changed(*REQUEST_KIND, request("node-1"), exists=True)
    cluster_state.event_handlers.add_change_handler(lambda check, target: told.append((check, target)))

    cluster_state.request_changed(*REQUEST_KIND, request("node-1", owner=""), exists=True)

    assert told == [(CHECK, "node-1"), (CHECK, None)]
