"""No request of the demo reads or changes a Node or a health check that the demo did not create."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devcluster.simulation.nodes import power_off, simulated_node
from devcluster.user_cluster.guard import ApiRequest, Forward, Refuse, judge
from devcluster.user_cluster.names import KINDS, LABELS, SELECTOR
from devcluster.user_cluster.refusals import demo_rights
from devcluster.user_cluster.set_up import FIXTURES, definitions, namespace
from health.kinds.right import Right

CHECKS = "/apis/remediation.medik8s.io/v1alpha1/nodehealthchecks"
REQUESTS = "/apis/demo.paramedic.dev/v1/namespaces/paramedic-demo/powercycleremediations"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
OWN = "paramedic-demo-0a1b-1"
LEASES = "/apis/coordination.k8s.io/v1/namespaces"
ANNOTATIONS = {"metadata": {"annotations": {"a": None}, "resourceVersion": "7"}}
UID = {"preconditions": {"uid": "u"}}
MACHINE_CHECKS = "/apis/machine.openshift.io/v1beta1/namespaces/openshift-machine-api/machinehealthchecks"


def own_node() -> dict[str, Any]:
    return simulated_node(OWN, is_guest=True)


def named(name: str, **more: object) -> dict[str, Any]:
    return {"metadata": {"name": name, **more}}


def check(**spec: object) -> dict[str, Any]:
    body = FIXTURES.node_health_check()
    return body | {"spec": body["spec"] | spec}


def verdict(method: str, path: str, body: object = None, query: str = "") -> Forward | Refuse:
    pairs = tuple((name, value) for name, _, value in (one.partition("=") for one in query.split("&") if one))
    encoded = b"" if body is None else json.dumps(body).encode()
    return judge(ApiRequest(method=method, path=path, query=pairs, body=encoded))


PASSING: dict[str, tuple[str, str, object]] = {
    "its node": ("POST", "/api/v1/nodes", own_node()),
    "status of its node": ("PATCH", f"/api/v1/nodes/{OWN}/status", {}),
    "deletion of its node": ("DELETE", f"/api/v1/nodes/{OWN}", None),
    "its check": ("POST", CHECKS, check()),
    "annotation of its check": ("PATCH", f"{CHECKS}/paramedic-demo", ANNOTATIONS),
    "power switch of its node": ("PATCH", f"/api/v1/nodes/{OWN}", power_off()),
    "annotation of its node": ("PATCH", f"/api/v1/nodes/{OWN}", ANNOTATIONS),
    "status of its check": ("PATCH", f"{CHECKS}/paramedic-demo/status", {}),
    "a request in its namespace": ("POST", REQUESTS, named(OWN)),
    "lease of a kubelet": ("POST", f"{LEASES}/kube-node-lease/leases", named(OWN)),
    "event about its node": ("POST", "/api/v1/namespaces/default/events", named(f"{OWN}.1f")),
    "its namespace": ("POST", "/api/v1/namespaces", namespace()),
    "end of its namespace": ("DELETE", "/api/v1/namespaces/paramedic-demo", UID),
    "a CRD": ("POST", DEFINITIONS, definitions()[0]),
    "a question about rights": (
        "POST",
        "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
        {},
    ),
}


@pytest.mark.parametrize("request_", PASSING.values(), ids=PASSING)
def test_request_about_an_object_of_the_demo_passes(request_: tuple[str, str, object]) -> None:
    assert isinstance(verdict(*request_), Forward)


REFUSED: dict[str, tuple[str, str, object]] = {
    "real node": ("POST", "/api/v1/nodes", named("node-1", labels=dict(LABELS))),
    "node without the label": ("POST", "/api/v1/nodes", named(OWN)),
    "node with a generated name": ("POST", "/api/v1/nodes", {"metadata": {"generateName": OWN}}),
    "update of a real node": ("PATCH", "/api/v1/nodes/node-1", {}),
    "status of a real node": ("PATCH", "/api/v1/nodes/node-1/status", {}),
    "deletion of a real node": ("DELETE", "/api/v1/nodes/node-1", None),
    "deletion of all nodes": ("DELETE", "/api/v1/nodes", None),
    "replacement of its node": ("PUT", f"/api/v1/nodes/{OWN}", own_node()),
    "eviction from a real node": ("POST", "/api/v1/namespaces/default/pods/p/eviction", {}),
    "read of a real node": ("GET", "/api/v1/nodes/node-1", None),
    "a kubelet through the API server": ("GET", f"/api/v1/nodes/{OWN}/proxy/pods", None),
    "watch in the old form": ("GET", "/api/v1/watch/nodes", None),
    "detour over another path": ("GET", "/readyz/../api/v1/nodes", None),
    "the same detour, encoded": ("GET", "/readyz/%2e%2e/api/v1/nodes", None),
    "slash within a name": ("DELETE", f"/api/v1/nodes/{OWN}%2f..%2fnode-1", None),
    "empty parts": ("GET", "/api/v1//nodes", None),
    "check that selects everything": ("POST", CHECKS, check(selector={})),
    "check that selects more": ("POST", CHECKS, check(selector={"matchExpressions": []})),
    "check without a selector": ("POST", CHECKS, named("paramedic-demo", labels=dict(LABELS))),
    "edit of its check": ("PATCH", f"{CHECKS}/paramedic-demo", {"spec": {"selector": {}}}),
    "edit of its check beside an annotation": (
        "PATCH",
        f"{CHECKS}/paramedic-demo",
        ANNOTATIONS | {"spec": {"selector": {}}},
    ),
    "JSON patch of its check": ("PATCH", f"{CHECKS}/paramedic-demo", [{"op": "remove", "path": "/spec"}]),
    "label of its node": ("PATCH", f"/api/v1/nodes/{OWN}", {"metadata": {"labels": {}}}),
    "annotation of another check": ("PATCH", f"{CHECKS}/workers", ANNOTATIONS),
    "another check": ("DELETE", f"{CHECKS}/workers", None),
    "status of another check": ("PATCH", f"{CHECKS}/workers/status", {}),
    "all checks": ("DELETE", CHECKS, None),
    "read of another check": ("GET", f"{CHECKS}/workers", None),
    "mark of a check for an upgrade": ("PATCH", f"{MACHINE_CHECKS}/workers", {}),
    "machine": ("DELETE", "/apis/machine.openshift.io/v1beta1/namespaces/m/machines/m", None),
    "request elsewhere": ("POST", REQUESTS.replace("paramedic-demo", "default", 1), named(OWN)),
    "Secret in its namespace": ("POST", "/api/v1/namespaces/paramedic-demo/secrets", named("s")),
    "lease of a real kubelet": ("PATCH", f"{LEASES}/kube-node-lease/leases/node-1", {}),
    "lease of another controller": ("POST", f"{LEASES}/kube-system/leases", named(OWN)),
    "another namespace": ("DELETE", "/api/v1/namespaces/default", UID),
    "namespace of unknown origin": ("DELETE", "/api/v1/namespaces/paramedic-demo", None),
    "finalizers of a namespace": ("PUT", "/api/v1/namespaces/paramedic-demo/finalize", {}),
    "CRD of unknown origin": ("DELETE", f"{DEFINITIONS}/{KINDS[0].full_name}", None),
    "another CRD": ("DELETE", f"{DEFINITIONS}/machines.machine.openshift.io", UID),
    "body that is no JSON": ("POST", "/api/v1/nodes", "paramedic-demo-1"),
}


@pytest.mark.parametrize("request_", REFUSED.values(), ids=REFUSED)
def test_request_about_an_object_of_others_is_refused(request_: tuple[str, str, object]) -> None:
    assert isinstance(verdict(*request_), Refuse)


@pytest.mark.parametrize("path", ["/api/v1/nodes", CHECKS, MACHINE_CHECKS])
@given(selectors=st.lists(st.sampled_from(["", "a=b", "!x", "role in (a,b)"]), max_size=3))
def test_each_list_of_nodes_and_checks_is_of_those_with_the_label(path: str, selectors: list[str]) -> None:
    query = (("watch", "true"), *(("labelSelector", selector) for selector in selectors), ("limit", "5"))
    passed = judge(ApiRequest(method="GET", path=path, query=query))
    assert isinstance(passed, Forward)
    (selector,) = (value for name, value in passed.query if name == "labelSelector")
    assert selector.split(",")[-1] == SELECTOR
    assert {("watch", "true"), ("limit", "5")} <= set(passed.query)


def test_other_lists_pass_unchanged() -> None:
    assert verdict("GET", "/api/v1/namespaces", query="limit=5") == Forward((("limit", "5"),))
    assert isinstance(verdict("GET", "/apis/remediation.medik8s.io/v1alpha1"), Forward)


OBJECT_OF = {
    "nodes": f"/api/v1/nodes/{OWN}",
    "nodehealthchecks": f"{CHECKS}/paramedic-demo",
    "powercycleremediations": f"{REQUESTS}/{OWN}",
}
METHODS = {"patch": "PATCH", "delete": "DELETE"}
CHANGES = [
    pytest.param(METHODS[verb], right, id=f"{verb} {right}")
    for right in dict.fromkeys(demo_rights())
    for verb in right.verbs
    if verb in METHODS and right.resource.partition("/")[0] in OBJECT_OF
]


@pytest.mark.parametrize(("method", "right"), CHANGES)
def test_rights_that_our_processes_use_reach_the_objects_of_the_demo(method: str, right: Right) -> None:
    resource, _, subresource = right.resource.partition("/")
    path = f"{OBJECT_OF[resource]}/{subresource}" if subresource else OBJECT_OF[resource]
    assert isinstance(verdict(method, path, ANNOTATIONS if method == "PATCH" else UID), Forward)
