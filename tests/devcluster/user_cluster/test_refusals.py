from dataclasses import replace
from typing import Any

import pytest

from devcluster.user_cluster.names import LABELS
from devcluster.user_cluster.refusals import Found, RefusedError, refuse
from kube.resource import Object
from objects.timestamps import micro_time, stamp
from tests.support.values.builders import NOW

EMPTY = Found(version=(1, 36), nodes=[{"metadata": {"name": "node-1"}}])


def named(name: str, namespace: str = "", **metadata: object) -> Object:
    return {"metadata": {"name": name, **({"namespace": namespace} if namespace else {}), **metadata}}


def lease(name: str, namespace: str, holder: str = "pod-1") -> Object:
    spec = {"holderIdentity": holder, "renewTime": micro_time(NOW), "leaseDurationSeconds": 15}
    metadata = {"resourceVersion": "1", "uid": "u", "creationTimestamp": stamp(NOW)}
    return named(name, namespace, **metadata) | {"spec": spec}


def refusal(*, despite_checks: bool = False, **found: Any) -> str:
    with pytest.raises(RefusedError) as refused:
        refuse(replace(EMPTY, **found), "kind", NOW, despite_checks=despite_checks)
    return str(refused.value)


def test_cluster_without_checks_is_taken() -> None:
    refuse(EMPTY, "kind", NOW, despite_checks=False)


def test_checks_are_named_by_kind_and_can_be_overridden() -> None:
    checks = [("NodeHealthCheck", named("workers")), ("NodeHealthCheck", named("masters"))]
    checks.append(("MachineHealthCheck", named("m", "openshift-machine-api")))
    said = refusal(checks=checks)
    assert "context kind has 2 NodeHealthChecks (workers, masters)" in said
    assert "1 MachineHealthCheck (openshift-machine-api/m)" in said
    assert "--despite-checks" in said
    refuse(replace(EMPTY, checks=checks), "kind", NOW, despite_checks=True)


def test_check_that_a_killed_demo_left_is_no_reason() -> None:
    left = named("paramedic-demo", labels=dict(LABELS))
    refuse(replace(EMPTY, checks=[("NodeHealthCheck", left)]), "kind", NOW, despite_checks=False)


def test_installation_of_paramedic_is_named_by_its_lease() -> None:
    said = refusal(leader_leases=[lease("paramedic-detector", "paramedic-system")])
    assert "an installation of Paramedic (Lease paramedic-system/paramedic-detector)" in said
    left = lease("paramedic-detector", "paramedic-demo")
    refuse(replace(EMPTY, leader_leases=[left]), "kind", NOW, despite_checks=False)


def test_operator_is_a_reason_while_it_holds_its_lease() -> None:
    running = lease("e1f13584.medik8s.io", "operators")
    assert "a running NodeHealthCheck operator" in refusal(operator_leases=[running])
    stopped = lease("e1f13584.medik8s.io", "operators", holder="")
    refuse(replace(EMPTY, operator_leases=[stopped]), "kind", NOW, despite_checks=False)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ({"missing_rights": ["create nodes"]}, "The user of context kind may not create nodes:"),
        (
            {"nodes": [named("paramedic-demo-x")]},
            "that it did not create (paramedic-demo-x)",
        ),
        ({"version": (1, 29)}, "has Kubernetes 1.29"),
    ],
)
def test_nothing_overrides_a_missing_right_a_foreign_node_or_an_old_version(
    found: dict[str, Any], words: str
) -> None:
    assert words in refusal(despite_checks=True, **found)


def test_long_list_of_checks_is_cut() -> None:
    checks = [("NodeHealthCheck", named(f"c{number}")) for number in range(9)]
    assert "9 NodeHealthChecks (c0, c1, c2, c3, c4 and 4 more)" in refusal(checks=checks)
