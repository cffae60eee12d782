from datetime import UTC, datetime
from typing import Any

import pytest

from devcluster.simulation.nodes import BOOT, POWER_ON_AT, simulated_node
from devcluster.simulation.remediator import NODE_NAME, TIMED_OUT, PowerCycleRemediation, advance
from kube.resource import Object
from tests.devcluster.simulation.recorded_client import RecordedClient

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
BEGUN = {"bootIDBefore": "boot-3"}
OFF = "node-3: power off until 2026-01-02T03:04:09+00:00"
PROCESSING = "Processing=True PowerCycling, Succeeded=Unknown PowerCycling"
SUCCEEDED = "Processing=False PowerCycled, Succeeded=True PowerCycled"
NOT_FOUND = "Processing=False NodeNotFound, Succeeded=False NodeNotFound"


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
    *owners: str,
    annotations: dict[str, str] | None = None,
    deleted: bool = False,
    status: dict[str, Any] | None = None,
) -> PowerCycleRemediation:
    """A request; `owners` are kinds of its owners."""
    versions = {
        "Machine": "machine.openshift.io/v1beta1",
        "NodeHealthCheck": "remediation.medik8s.io/v1alpha1",
    }
    metadata = {
        "name": name,
        "namespace": "default",
        "uid": "u",
        "resourceVersion": "7",
        "creationTimestamp": "2026-01-02T03:00:00Z",
        "annotations": annotations or {},
        "deletionTimestamp": "2026-01-02T03:01:00Z" if deleted else None,
        "ownerReferences": [
            {"apiVersion": versions[kind], "kind": kind, "name": f"a-{kind}", "uid": "u"} for kind in owners
        ],
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


async def advanced(seen: PowerCycleRemediation, **objects: Object) -> RecordedClient:
    recorded = RecordedClient(**NODES | objects)
    await advance(recorded.client, seen, NOW)
    return recorded


@pytest.mark.parametrize(
    ("seen", "write"),
    [
        pytest.param(request(), f"node-3: {PROCESSING}", id="new"),
        pytest.param(request(status=BEGUN), OFF, id="begun"),
        pytest.param(request(status={"bootIDBefore": "boot-0"}), f"node-3: {SUCCEEDED}", id="rebooted since"),
        pytest.param(
            request(status=BEGUN | with_conditions(Processing="True", Succeeded="Unknown")),
            OFF,
            id="processing",
        ),
        pytest.param(request("real"), f"real: {NOT_FOUND}", id="a real node"),
        pytest.param(request("node-9"), f"node-9: {NOT_FOUND}", id="unknown node"),
    ],
)
async def test_next_step(seen: PowerCycleRemediation, write: str) -> None:
    assert not seen.is_over
    assert (await advanced(seen)).writes == [write]


@pytest.mark.parametrize(
    "seen",
    [
        pytest.param(request(status=with_conditions(Succeeded="True")), id="succeeded"),
        pytest.param(request(status=with_conditions(Succeeded="False")), id="failed"),
        pytest.param(request(deleted=True), id="being deleted"),
        pytest.param(request(annotations={TIMED_OUT: "2026-01-02T03:04:05Z"}), id="timed out"),
    ],
)
def test_finished_request_is_over(seen: PowerCycleRemediation) -> None:
    assert seen.is_over


@pytest.mark.parametrize(
    ("found", "writes"),
    [
        pytest.param(node("node-3", boot="boot-3"), [OFF], id="runs"),
        pytest.param(node("node-3", boot=None, reported="boot-3"), [OFF], id="hangs"),
        pytest.param(
            node("node-3", boot=None, reported="boot-3", power_on_at="2026-01-02T03:04:09Z"), [], id="off"
        ),
        pytest.param(node("node-3", boot="boot-4", reported="boot-3"), [], id="boots"),
        pytest.param(node("node-3", boot="boot-4"), [f"node-3: {SUCCEEDED}"], id="has booted"),
    ],
)
async def test_power_cycle_is_begun_once(found: Object, writes: list[str]) -> None:
    assert (await advanced(request(status=BEGUN), **{"node-3": found})).writes == writes


def stored_machine(node_name: str | None, uid: str = "u") -> Object:
    metadata = {"name": "a-Machine", "namespace": "default", "uid": uid, "resourceVersion": "1"}
    created = {"creationTimestamp": "2026-01-02T03:00:00Z"}
    return {"metadata": metadata | created, "status": {"nodeRef": {"name": node_name} if node_name else None}}


@pytest.mark.parametrize(
    ("seen", "machine", "boot"),
    [
        pytest.param(request("r", annotations={NODE_NAME: "node-1"}), None, "boot-1", id="annotation"),
        pytest.param(request("node-3", annotations={NODE_NAME: "node-1"}), None, "boot-1", id="not the name"),
        pytest.param(
            request("node-3", "NodeHealthCheck"), stored_machine("node-1"), "boot-3", id="of a check of Nodes"
        ),
        pytest.param(request("r", "Machine"), stored_machine("node-1"), "boot-1", id="node of its Machine"),
        pytest.param(
            request("r", "NodeHealthCheck", "Machine"), stored_machine("node-1"), "boot-1", id="of both"
        ),
        pytest.param(
            request("r", "Machine", annotations={NODE_NAME: "node-3"}),
            stored_machine("node-1"),
            "boot-1",
            id="the Machine wins",
        ),
        pytest.param(
            request("r", "Machine", annotations={NODE_NAME: "node-3"}), None, "boot-3", id="Machine gone"
        ),
        pytest.param(
            request("node-3", "Machine"), stored_machine(None), "boot-3", id="Machine without a node"
        ),
        pytest.param(
            request("node-3", "Machine"), stored_machine("node-1", "other"), "boot-3", id="another Machine"
        ),
    ],
)
async def test_request_is_for_the_node_of_its_machine_or_of_its_annotation_or_name(
    seen: PowerCycleRemediation, machine: Object | None, boot: str
) -> None:
    recorded = await advanced(seen, **({"a-Machine": machine} if machine else {}))
    assert [patch["status"]["bootIDBefore"] for patch in recorded.patches] == [boot]


async def test_request_of_a_rebooted_node_keeps_its_boot_id() -> None:
    (patch,) = (await advanced(request(status={"bootIDBefore": "boot-0"}))).patches
    assert "bootIDBefore" not in patch["status"]


async def test_failed_request_says_why() -> None:
    (patch,) = (await advanced(request("node-9"))).patches
    assert {c["message"] for c in patch["status"]["conditions"]} == {"There is no simulated node node-9."}


async def test_condition_moves_its_transition_time_only_with_its_status() -> None:
    before = with_conditions(Processing="False", Succeeded="Unknown")
    (patch,) = (await advanced(request(status=before | {"bootIDBefore": "boot-0"}))).patches
    times = {c["type"]: c["lastTransitionTime"] for c in patch["status"]["conditions"]}
    assert times == {"Processing": "2026-01-02T03:00:00Z", "Succeeded": "2026-01-02T03:04:05Z"}


async def test_status_applies_only_to_the_version_that_was_read() -> None:
    (patch,) = (await advanced(request())).patches
    assert patch["metadata"] == {"resourceVersion": "7"}
