from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from devcluster.simulation.nodes import BOOT, POWER_ON_AT, simulated_node
from devcluster.simulation.remediator import (
    NODE_NAME,
    TIMED_OUT,
    Begin,
    Fail,
    PowerCycle,
    PowerCycleRemediation,
    Step,
    Succeed,
    next_step,
    status_patch,
)
from kube.resource import Object

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def node(name: str, *, boot: str | None, reported: str | None = None, power_on_at: str = "") -> Object:
    """A simulated Node, whose kubelet has reported the boot unless `reported` differs."""
    body = simulated_node(name)
    labels, annotations = body["metadata"]["labels"], body["metadata"]["annotations"]
    body["status"]["nodeInfo"]["bootID"] = boot if reported is None else reported
    del labels[BOOT]
    labels |= {} if boot is None else {BOOT: boot}
    annotations |= {POWER_ON_AT: power_on_at} if power_on_at else {}
    return body


REAL: Object = {"metadata": {"name": "real"}, "status": {}}
NODES = {name: node(name, boot=f"boot-{name[-1]}") for name in ("node-1", "node-3")} | {"real": REAL}


def request(
    name: str = "node-3",
    *,
    annotations: dict[str, str] | None = None,
    deleted: bool = False,
    status: dict[str, Any] | None = None,
) -> PowerCycleRemediation:
    metadata = {
        "name": name,
        "namespace": "default",
        "uid": "u",
        "resourceVersion": "7",
        "creationTimestamp": "2026-01-02T03:00:00Z",
        "annotations": annotations or {},
        "deletionTimestamp": "2026-01-02T03:01:00Z" if deleted else None,
    }
    return PowerCycleRemediation.model_validate(
        {"metadata": metadata, "spec": {"powerOffSeconds": 4}, "status": status or {}}
    )


def with_conditions(**statuses: str) -> dict[str, Any]:
    conditions = [
        {"type": t, "status": s, "reason": "R", "message": "", "lastTransitionTime": "2026-01-02T03:00:00Z"}
        for t, s in statuses.items()
    ]
    return {"conditions": conditions}


@pytest.mark.parametrize(
    ("seen", "step"),
    [
        pytest.param(request(), Begin("boot-3"), id="new"),
        pytest.param(
            request("r", annotations={NODE_NAME: "node-1"}), Begin("boot-1"), id="named by annotation"
        ),
        pytest.param(
            request("node-3", annotations={NODE_NAME: "node-1"}), Begin("boot-1"), id="annotation wins"
        ),
        pytest.param(
            request(status={"bootIDBefore": "boot-3"}), PowerCycle(timedelta(seconds=4)), id="begun"
        ),
        pytest.param(request(status={"bootIDBefore": "boot-0"}), Succeed("boot-3"), id="rebooted since"),
        pytest.param(request(status=with_conditions(Succeeded="True")), None, id="succeeded"),
        pytest.param(request(status=with_conditions(Succeeded="False")), None, id="failed"),
        pytest.param(
            request(
                status={"bootIDBefore": "boot-3"} | with_conditions(Processing="True", Succeeded="Unknown")
            ),
            PowerCycle(timedelta(seconds=4)),
            id="processing",
        ),
        pytest.param(request(deleted=True), None, id="being deleted"),
        pytest.param(request(annotations={TIMED_OUT: "2026-01-02T03:04:05Z"}), None, id="timed out"),
        pytest.param(
            request("real"), Fail("NodeNotFound", "There is no simulated node real."), id="a real node"
        ),
        pytest.param(
            request("node-9"), Fail("NodeNotFound", "There is no simulated node node-9."), id="unknown node"
        ),
    ],
)
def test_next_step(seen: PowerCycleRemediation, step: Step | None) -> None:
    assert next_step(seen, seen.node(), NODES.get(seen.node())) == step


@pytest.mark.parametrize(
    ("found", "step"),
    [
        pytest.param(node("node-3", boot="boot-3"), PowerCycle(timedelta(seconds=4)), id="runs"),
        pytest.param(
            node("node-3", boot=None, reported="boot-3"), PowerCycle(timedelta(seconds=4)), id="hangs"
        ),
        pytest.param(
            node("node-3", boot=None, reported="boot-3", power_on_at="2026-01-02T03:04:09Z"), None, id="off"
        ),
        pytest.param(node("node-3", boot="boot-4", reported="boot-3"), None, id="boots"),
        pytest.param(node("node-3", boot="boot-4"), Succeed("boot-4"), id="has booted"),
    ],
)
def test_power_cycle_is_begun_once(found: Object, step: Step | None) -> None:
    assert next_step(request(status={"bootIDBefore": "boot-3"}), "node-3", found) == step


def owned_by(
    *kinds: str, name: str = "r", annotations: dict[str, str] | None = None
) -> PowerCycleRemediation:
    seen = request(name, annotations=annotations)
    versions = {
        "Machine": "machine.openshift.io/v1beta1",
        "NodeHealthCheck": "remediation.medik8s.io/v1alpha1",
    }
    owners = [{"apiVersion": versions[kind], "kind": kind, "name": f"a-{kind}", "uid": "u"} for kind in kinds]
    raw = seen.model_dump(by_alias=True)
    return PowerCycleRemediation.model_validate(
        raw | {"metadata": raw["metadata"] | {"ownerReferences": owners}}
    )


@pytest.mark.parametrize(
    ("seen", "machine"),
    [
        pytest.param(owned_by(), None, id="nobody's"),
        pytest.param(owned_by("NodeHealthCheck"), None, id="of a check of Nodes"),
        pytest.param(owned_by("Machine"), "a-Machine", id="of a Machine"),
        pytest.param(owned_by("NodeHealthCheck", "Machine"), "a-Machine", id="of both"),
    ],
)
def test_machine_of_a_request_is_an_owner_of_it(seen: PowerCycleRemediation, machine: str | None) -> None:
    assert (seen.machine.name if seen.machine else None) == machine


@pytest.mark.parametrize(
    ("seen", "of_machine", "expected"),
    [
        pytest.param(owned_by("Machine", name="workers-abcde"), "node-1", "node-1", id="node of its Machine"),
        pytest.param(owned_by("Machine", annotations={NODE_NAME: "node-3"}), "node-1", "node-1", id="wins"),
        pytest.param(owned_by("Machine", annotations={NODE_NAME: "node-3"}), None, "node-3", id="annotation"),
        pytest.param(owned_by("Machine", name="node-3"), None, "node-3", id="name"),
    ],
)
def test_request_of_a_machine_is_for_the_node_of_that(
    seen: PowerCycleRemediation, of_machine: str | None, expected: str
) -> None:
    assert seen.node(of_machine) == expected


def statuses(patch: dict[str, Any]) -> dict[str, str]:
    return {c["type"]: c["status"] for c in patch["status"]["conditions"]}


def test_begun_request_is_processing_and_keeps_the_boot_id() -> None:
    patch = status_patch(request(), "node-3", Begin("boot-3"), NOW)
    assert statuses(patch) == {"Processing": "True", "Succeeded": "Unknown"}
    assert patch["status"]["bootIDBefore"] == "boot-3"


def test_request_of_a_rebooted_node_succeeded() -> None:
    patch = status_patch(request(), "node-3", Succeed("boot-4"), NOW)
    assert statuses(patch) == {"Processing": "False", "Succeeded": "True"}
    assert "bootIDBefore" not in patch["status"]


def test_failed_request_says_why() -> None:
    patch = status_patch(request(), "node-3", Fail("NodeNotFound", "There is none."), NOW)
    assert statuses(patch) == {"Processing": "False", "Succeeded": "False"}
    assert {(c["reason"], c["message"]) for c in patch["status"]["conditions"]} == {
        ("NodeNotFound", "There is none.")
    }


def test_condition_moves_its_transition_time_only_with_its_status() -> None:
    seen = request(status=with_conditions(Processing="False", Succeeded="Unknown"))
    patch = status_patch(seen, "node-3", Succeed("boot-4"), NOW)
    times = {c["type"]: c["lastTransitionTime"] for c in patch["status"]["conditions"]}
    assert times == {"Processing": "2026-01-02T03:00:00Z", "Succeeded": "2026-01-02T03:04:05Z"}


def test_status_applies_only_to_the_version_that_was_read() -> None:
    assert status_patch(request(), "node-3", Begin("boot-3"), NOW)["metadata"] == {"resourceVersion": "7"}
