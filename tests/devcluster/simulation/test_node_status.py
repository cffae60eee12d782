from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from devcluster.simulation import node_api
from devcluster.simulation.machine_room import SimulatedMachine

NOW = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
LATER = NOW + timedelta(seconds=90)
REPORT = timedelta(minutes=5)
MACHINE = SimulatedMachine("node-3", 3, "boot-1")
REBOOTED = SimulatedMachine("node-3", 3, "boot-2")


def condition(node: dict[str, Any], type_: str) -> dict[str, str]:
    return next(c for c in node["status"]["conditions"] if c["type"] == type_)


def node_with(statuses: dict[str, str]) -> dict[str, Any]:
    node = node_api.node(MACHINE, NOW)
    for type_, status in statuses.items():
        condition(node, type_)["status"] = status
    return node


def test_new_node_is_ready_since_now() -> None:
    ready = condition(node_api.node(MACHINE, NOW), "Ready")
    assert (ready["status"], ready["reason"]) == ("True", "KubeletReady")
    assert ready["lastTransitionTime"] == ready["lastHeartbeatTime"] == "2026-01-02T03:04:05Z"


def test_new_node_has_no_pressure() -> None:
    node = node_api.node(MACHINE, NOW)
    pressures = ("MemoryPressure", "DiskPressure", "PIDPressure")
    assert [condition(node, type_)["status"] for type_ in pressures] == ["False"] * 3


def test_new_node_is_labelled_as_a_worker() -> None:
    labels = node_api.node(MACHINE, NOW)["metadata"]["labels"]
    assert labels["kubernetes.io/hostname"] == "node-3"
    assert "node-role.kubernetes.io/worker" in labels


def test_new_node_does_not_touch_taints() -> None:
    assert "taints" not in node_api.node(MACHINE, NOW)["spec"]


def test_transition_time_stays_while_the_status_stays() -> None:
    shown = node_api.node(MACHINE, NOW)["status"]["conditions"]
    ready = node_api.conditions(shown, LATER)[-1]
    assert ready["lastTransitionTime"] == "2026-01-02T03:04:05Z"
    assert ready["lastHeartbeatTime"] == "2026-01-02T03:05:35Z"


def test_ready_after_unknown_is_a_new_transition() -> None:
    shown = node_with({"Ready": "Unknown"})["status"]["conditions"]
    ready = node_api.conditions(shown, LATER)[-1]
    assert (ready["status"], ready["lastTransitionTime"]) == ("True", "2026-01-02T03:05:35Z")


def test_conditions_of_others_are_not_among_those_of_a_kubelet() -> None:
    shown = [{"type": "KernelDeadlock", "status": "True"}]
    types = {c["type"] for c in node_api.conditions(shown, NOW)}
    assert types == {"Ready", "MemoryPressure", "DiskPressure", "PIDPressure"}


def test_reboot_changes_the_boot_id_and_nothing_else() -> None:
    before, after = node_api.node_info(MACHINE), node_api.node_info(REBOOTED)
    assert {key for key in before if before[key] != after[key]} == {"bootID"}


@pytest.mark.parametrize(
    ("node", "machine", "now", "due"),
    [
        pytest.param(node_with({}), MACHINE, LATER, False, id="unchanged"),
        pytest.param(node_with({}), MACHINE, NOW + REPORT + timedelta(seconds=1), True, id="old report"),
        pytest.param(node_with({}), REBOOTED, LATER, True, id="rebooted"),
        pytest.param(node_with({"Ready": "Unknown"}), MACHINE, LATER, True, id="declared unknown"),
        pytest.param(node_with({"PIDPressure": "Unknown"}), MACHINE, LATER, True, id="pressure unknown"),
        pytest.param({"metadata": {}}, MACHINE, LATER, True, id="no status yet"),
    ],
)
def test_report_is_due(node: dict[str, Any], machine: SimulatedMachine, now: datetime, due: bool) -> None:  # noqa: FBT001  a column of the table
    assert node_api.is_due(node, machine, now, REPORT) is due


def test_addresses_differ_between_machines_and_are_valid() -> None:
    addresses = {SimulatedMachine(f"node-{n}", n, "").address for n in (1, 2, 254, 255, 10_000)}
    assert addresses == {"10.0.0.1", "10.0.0.2", "10.0.0.254", "10.0.1.1", "10.0.39.94"}
