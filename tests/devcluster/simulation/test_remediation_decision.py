from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from devcluster.simulation.controller import NoAction
from devcluster.simulation.remediator import (
    NODE_NAME,
    TIMED_OUT,
    Begin,
    Fail,
    PowerCycleRemediation,
    Step,
    Succeed,
    SwitchOffAndOn,
    next_step,
    status_patch,
)

BOOTS = {"node-1": "boot-1", "node-3": "boot-3"}
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


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
            request(status={"bootIDBefore": "boot-3"}), SwitchOffAndOn(timedelta(seconds=4)), id="begun"
        ),
        pytest.param(request(status={"bootIDBefore": "boot-0"}), Succeed("boot-3"), id="rebooted since"),
        pytest.param(request(status=with_conditions(Succeeded="True")), NoAction(), id="succeeded"),
        pytest.param(request(status=with_conditions(Succeeded="False")), NoAction(), id="failed"),
        pytest.param(
            request(
                status={"bootIDBefore": "boot-3"} | with_conditions(Processing="True", Succeeded="Unknown")
            ),
            SwitchOffAndOn(timedelta(seconds=4)),
            id="processing",
        ),
        pytest.param(request(deleted=True), NoAction(), id="being deleted"),
        pytest.param(request(annotations={TIMED_OUT: "2026-01-02T03:04:05Z"}), NoAction(), id="timed out"),
        pytest.param(
            request("node-9"), Fail("NodeNotFound", "There is no simulated node node-9."), id="unknown node"
        ),
    ],
)
def test_next_step(seen: PowerCycleRemediation, step: Step) -> None:
    assert next_step(seen, seen.node(), BOOTS) == step


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
    ("seen", "of_machine", "node"),
    [
        pytest.param(owned_by("Machine", name="workers-abcde"), "node-1", "node-1", id="node of its Machine"),
        pytest.param(owned_by("Machine", annotations={NODE_NAME: "node-3"}), "node-1", "node-1", id="wins"),
        pytest.param(owned_by("Machine", annotations={NODE_NAME: "node-3"}), "", "node-3", id="annotation"),
        pytest.param(owned_by("Machine", name="node-3"), "", "node-3", id="name"),
    ],
)
def test_request_of_a_machine_is_for_the_node_of_that(
    seen: PowerCycleRemediation, of_machine: str, node: str
) -> None:
    assert seen.node(of_machine) == node


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
