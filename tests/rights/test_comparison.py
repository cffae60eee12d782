"""Audit logs are compared with the table of rights in both directions."""

import json
from pathlib import Path

import pytest

from health.kinds.right import Process
from tests.rights.calls import Call, all_uses, calls, uses
from tests.rights.comparison import ROWS, problems

AGENT = "paramedic-worker"
WORKER = f"system:serviceaccount:paramedic-system:{AGENT}"


def line(verb: str, resource: str, *, agent: str = AGENT, user: str = WORKER, **where: str) -> str:
    event = {"verb": verb, "userAgent": agent, "user": {"username": user}}
    return json.dumps(event | {"objectRef": {"resource": resource} | where})


@pytest.fixture
def audit_log(tmp_path: Path) -> Path:
    return tmp_path / "of-one-test.log"  # a run takes no other name for one


def test_request_of_a_process_as_itself_is_read(audit_log: Path) -> None:
    lines = [
        line("patch", "machines", apiGroup="g", subresource="status", namespace="n", name="m"),
        line("get", "nodes", agent="kubectl/v1"),
        line("get", "nodes", agent="paramedic-detector"),
        line("get", "nodes", user="system:admin"),
        json.dumps(
            {"verb": "get", "userAgent": AGENT, "user": {"username": WORKER}, "requestURI": "/readyz"}
        ),
        line("get", "nodes")[:-5],
    ]
    audit_log.write_text("\n".join(lines))

    assert list(calls(audit_log)) == [Call(Process.WORKER, "patch", "g", "machines/status", "n", "m")]


@pytest.mark.parametrize(
    "asked",
    [
        line("get", "nodes", name="a"),
        line("get", "namespaces", name="kube-system"),
        line("create", "leases", apiGroup="coordination.k8s.io", namespace="medik8s-leases"),
        line("delete", "resets", apiGroup="a.remediator", namespace="default", name="a"),
        line("get", "resettemplates", apiGroup="a.remediator", namespace="default", name="a"),
        line("get", "secrets", namespace="fleet", name="edge-kubeconfig"),
    ],
)
def test_request_that_the_table_allows_passes(audit_log: Path, asked: str) -> None:
    audit_log.write_text(f"{asked}\n")
    assert problems([audit_log], is_whole_run=False) == []


@pytest.mark.parametrize(
    "asked",
    [
        line("delete", "nodes", name="a"),
        line("create", "namespaces", name="medik8s-leases"),
        line("get", "namespaces", name="default"),
        line("create", "leases", apiGroup="coordination.k8s.io", namespace="default"),
        line("patch", "machines", apiGroup="machine.openshift.io", subresource="status", name="a"),
        line("delete", "resettemplates", apiGroup="a.remediator", namespace="default", name="a"),
        line("list", "secrets", namespace="fleet"),
        line("get", "secrets", namespace="fleet", name="edge-ca"),
    ],
)
def test_request_that_the_table_does_not_allow_is_named(audit_log: Path, asked: str) -> None:
    audit_log.write_text(f"{asked}\n")
    (problem,) = problems([audit_log], is_whole_run=False)
    assert problem.startswith("the worker asked to ")


def test_verb_that_nothing_needed_is_named_after_a_whole_run(audit_log: Path) -> None:
    audit_log.write_text(f"{line('get', 'nodes', name='a')}\n")
    found = problems([audit_log], is_whole_run=True)

    assert "worker patch nodes (deploy/base/rbac/confirmations.yaml): no test needs it" in found
    assert "worker get nodes (deploy/base/rbac/worker.yaml): no test needs it" not in found


def test_right_on_one_namespace_comes_before_that_on_all() -> None:
    call = Call(Process.WORKER, "create", "", "events", "default", "")
    assert {use.right.namespace for use in uses(call, ROWS)} == {"default"}
    elsewhere = call._replace(namespace="fleet")
    of_all = uses(elsewhere, ROWS)
    assert len({use.right.granted_by for use in of_all}) >= 2
    assert set(of_all) <= all_uses(ROWS)
