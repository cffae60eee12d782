from datetime import UTC, datetime, timedelta

import pytest

from devcluster.simulation.nodes import (
    BOOT,
    boot_of,
    conditions,
    is_due,
    is_switched_on_now,
    power_off,
    power_on,
    simulated_node,
)
from kube.resource import Object

NOW = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
LATER = NOW + timedelta(seconds=90)


def node(statuses: dict[str, str] | None = None, *, reported: str = "boot-1", boot: str = "boot-1") -> Object:
    """A Node whose kubelet reported at NOW, and whose conditions another controller changed since."""
    body = simulated_node("node-3")
    body["metadata"]["labels"][BOOT] = boot
    body["status"]["nodeInfo"]["bootID"] = reported
    body["status"]["conditions"] = conditions((), NOW)
    for condition in body["status"]["conditions"]:
        condition["status"] = (statuses or {}).get(condition["type"], condition["status"])
    return body


def test_first_report_is_ready_since_now_and_without_pressure() -> None:
    *pressures, ready = conditions((), NOW)
    assert (ready["status"], ready["reason"]) == ("True", "KubeletReady")
    assert ready["lastTransitionTime"] == ready["lastHeartbeatTime"] == "2026-01-02T03:04:05Z"
    assert {pressure["type"]: pressure["status"] for pressure in pressures} == {
        "MemoryPressure": "False",
        "DiskPressure": "False",
        "PIDPressure": "False",
    }


def test_new_node_is_a_worker_without_taints_that_is_switched_on() -> None:
    body = simulated_node("node-3")
    labels = body["metadata"]["labels"]
    assert labels["kubernetes.io/hostname"] == "node-3"
    assert "node-role.kubernetes.io/worker" in labels
    assert body["spec"]["taints"] == []
    assert boot_of(body) not in (None, boot_of(simulated_node("node-3")))


def test_guest_takes_no_pods_and_no_traffic() -> None:
    guest = simulated_node("paramedic-demo-1", is_guest=True)
    assert [taint["effect"] for taint in guest["spec"]["taints"]] == ["NoSchedule", "NoExecute"]
    assert guest["status"]["allocatable"]["pods"] == "0"
    labels = guest["metadata"]["labels"]
    assert labels["kubernetes.io/os"] not in ("linux", "windows")
    assert "node.kubernetes.io/exclude-from-external-load-balancers" in labels
    assert "node-role.kubernetes.io/worker" not in labels
    # A network plug-in could make a route to another address.
    assert [address["type"] for address in guest["status"]["addresses"]] == ["Hostname"]


def test_transition_time_stays_while_the_status_stays() -> None:
    ready = conditions(node()["status"]["conditions"], LATER)[-1]
    assert ready["lastTransitionTime"] == "2026-01-02T03:04:05Z"
    assert ready["lastHeartbeatTime"] == "2026-01-02T03:05:35Z"


def test_ready_after_unknown_is_a_new_transition() -> None:
    ready = conditions(node({"Ready": "Unknown"})["status"]["conditions"], LATER)[-1]
    assert (ready["status"], ready["lastTransitionTime"]) == ("True", "2026-01-02T03:05:35Z")


@pytest.mark.parametrize(
    ("seen", "now", "due"),
    [
        pytest.param(node(), LATER, False, id="unchanged"),
        pytest.param(node(), NOW + timedelta(minutes=5, seconds=1), True, id="old report"),
        pytest.param(node(boot="boot-2"), LATER, True, id="rebooted"),
        pytest.param(node({"Ready": "Unknown"}), LATER, True, id="declared unknown"),
        pytest.param(node({"PIDPressure": "Unknown"}), LATER, True, id="pressure unknown"),
        pytest.param(simulated_node("node-3"), LATER, True, id="no status yet"),
    ],
)
def test_report_is_due(seen: Object, now: datetime, due: bool) -> None:  # noqa: FBT001  a column of the table
    assert is_due(seen, now) is due


def test_machine_that_is_off_is_switched_on_when_its_time_is_over() -> None:
    body = node()
    assert not is_switched_on_now(body, LATER)
    del body["metadata"]["labels"][BOOT]
    assert not is_switched_on_now(body, LATER)  # it hangs
    body["metadata"]["annotations"] = power_off(until=LATER)["metadata"]["annotations"]
    assert not is_switched_on_now(body, NOW)
    assert is_switched_on_now(body, LATER)


def test_each_boot_has_a_new_id() -> None:
    assert boot_of(power_on()) != boot_of(power_on())
    assert boot_of(power_on("boot-2")) == "boot-2"
