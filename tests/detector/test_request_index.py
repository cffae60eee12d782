"""A request whose owner or target is edited has exactly one place in the cluster state."""

import pytest

from detector.state.request_index import RequestIndex, seen
from health.model.references import CheckReference
from health.model.remediation_request import NODE_NAME, RemediationRequest
from tests.support.state.small_cluster import CHECK, REQUEST_KIND, SmallCluster


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


@pytest.mark.rule("NHC 1.7/node-name")
def test_request_is_there_until_no_version_of_its_kind_shows_it() -> None:
    index, other = RequestIndex(), ("example.com/v2", REQUEST_KIND[1])
    assert index.put(seen(*REQUEST_KIND, request("node-1"))) is None
    index.put(seen(*other, request("node-1")))
    assert [one.reference.api_version for one in index.of(CHECK, "node-1")] == ["example.com/v2"]

    before = index.remove(seen(*other, request("node-1")))
    assert before is not None
    [left] = index.of(CHECK, "node-1")
    assert left == index.get("request-1") == seen(*REQUEST_KIND, request("node-1"))

    assert index.remove(seen(*REQUEST_KIND, request("node-1"))) == left
    assert not list(index.all())
    assert index.get("request-1") is None
    assert index.remove(seen(*REQUEST_KIND, request("node-1"))) is None


@pytest.mark.rule("NHC 1.7/node-name")
def test_request_that_one_version_shows_no_more_is_not_reported_as_gone() -> None:
    cluster_state = SmallCluster().cluster_state
    ends: list[bool] = []
    cluster_state.event_handlers.add_request_handler(lambda _, after: ends.append(after is None))
    other = ("example.com/v2", REQUEST_KIND[1])
    for version in (REQUEST_KIND, other):
        cluster_state.request_changed(*version, request("node-1"), exists=True)
    for version in (REQUEST_KIND, other):
        cluster_state.request_changed(*version, request("node-1"), exists=False)
    assert ends == [False, False, False, True]


@pytest.mark.rule("NHC 2.8/deletion")
def test_check_that_owns_a_request_no_more_is_reported() -> None:
    told: list[tuple[CheckReference, str | None]] = []
    cluster_state = SmallCluster().cluster_state
    cluster_state.request_changed(*REQUEST_KIND, request("node-1"), exists=True)
    cluster_state.event_handlers.add_change_handler(lambda check, target: told.append((check, target)))

    cluster_state.request_changed(*REQUEST_KIND, request("node-1", owner=""), exists=True)

    assert told == [(CHECK, "node-1"), (CHECK, None)]
