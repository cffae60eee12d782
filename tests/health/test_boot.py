"""The boots that a Node shows, and which checks ask for a boot as the proof of recovery."""

from typing import Any

import pytest

from health.check.health_check import HealthCheck
from health.check.same_boot import SAME_BOOT, proof_seconds, same_boot, still_states
from health.kinds.nodehealthcheck.check import NodeHealthCheck
from health.kinds.openshift.check import EXTERNAL_BAREMETAL, STRATEGY
from health.model.boot import MOST_EARLIER_BOOTS, boot_of, earlier_boots, has_come_back, is_same_boot
from health.model.node import CONFIRMED_HEALTHY, Node, facts_of_node
from health.model.remediation_order import RemediationOrder
from health.model.sighting import Look
from health.model.target import Target
from health.model.verdict import Fact
from tests.support.values import cluster_api as clusterapi
from tests.support.values import openshift
from tests.support.values.builders import (
    EMPTY_CONTEXT,
    MINUTE,
    NOW,
    check_object,
    condition,
    fact,
    node_object,
)

UUID = "4c4c4544-0042-3510-8052-b4c04f4e3432"
SWAPPED = "44454c4c-4200-1035-8052-b4c04f4e3432"
"""The same UUID, with the first three groups as SMBIOS stores them."""
A, B, C = (boot_of(f"boot-{name}", f"machine-{name}", f"uuid-{name}") for name in "abc")
LOOK = Look(at=NOW)


def node(info: dict[str, Any] | None, **metadata: Any) -> Node:
    body = node_object(condition("Ready", "True"), **metadata)
    body["status"]["nodeInfo"] = info
    return Node.model_validate(body)


def showing(*boots: str, **metadata: Any) -> Node:
    """A Node that showed these boots, one after the other."""
    seen: Node | None = None
    for boot in boots:
        parts = zip(("bootID", "machineID", "systemUUID"), boot.split("/"), strict=False)
        seen = node(dict(parts), **metadata).seen_after(seen, LOOK)
    assert seen is not None
    return seen


@pytest.mark.rule("rule 65")
@pytest.mark.parametrize(
    ("info", "boot"),
    [
        ({"bootID": "b", "machineID": "m", "systemUUID": "u"}, "b/m/u"),
        ({"bootID": "b", "machineID": "m", "systemUUID": "4C4C-AB"}, "b/m/4c4c-ab"),
        ({"bootID": "b"}, "b"),
        ({"bootID": "b", "machineID": "", "systemUUID": ""}, "b"),
        ({"bootID": "b", "machineID": None, "systemUUID": None}, "b"),
        ({"bootID": "b", "machineID": "m"}, "b/m"),
        ({"bootID": "b", "systemUUID": "u"}, "b//u"),
        ({"machineID": "m", "systemUUID": "u"}, ""),
        ({"kernelVersion": "6.12"}, ""),
        ({}, ""),
        (None, ""),
    ],
)
def test_boot_of_a_node_has_the_parts_that_its_kubelet_reports(
    info: dict[str, Any] | None, boot: str
) -> None:
    assert node(info).boot_id == boot


@pytest.mark.rule("rule 65")
def test_long_parts_are_bounded() -> None:
    found = node({"bootID": "b" * 9000, "machineID": "m" * 9000, "systemUUID": "u" * 9000}).boot_id
    assert len(found) <= 1024


@pytest.mark.rule("rule 65")
@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        pytest.param("b/m/u", "b/m/u", True, id="the same"),
        pytest.param("b/m/u", "c/m/u", False, id="another boot of the machine"),
        pytest.param("7/m/u", "7/n/v", False, id="the seventh boots of two machines"),
        pytest.param("7/m/u", "7/m/v", False, id="two machines of one image"),
        pytest.param("7/m/u", "8/m/u", False, id="the next boot of a Windows machine"),
        pytest.param("b", "b/m/u", True, id="an older version wrote the boot ID alone"),
        pytest.param("b", "c/m/u", False, id="an older version wrote another boot ID"),
        pytest.param("b//u", "b/m/u", True, id="without the machine ID"),
        pytest.param("b//u", "b/m/v", False, id="another machine, without the machine ID"),
        pytest.param(f"b/m/{UUID}", f"b/m/{SWAPPED}", True, id="the UUID in the other byte order"),
        pytest.param(f"7/m/{UUID}", f"8/m/{SWAPPED}", False, id="another boot, and the other byte order"),
        pytest.param(f"7/m/{UUID}", f"7/m/{UUID[:-1]}3", False, id="another UUID"),
        pytest.param(f"7/m/{UUID}", f"7/m/{SWAPPED[:-1]}3", False, id="another UUID in the other order"),
        pytest.param("", "b", False, id="unknown before"),
        pytest.param("", "", False, id="unknown"),
    ],
)
def test_boots_are_the_same_if_no_part_that_both_have_differs(one: str, other: str, *, is_same: bool) -> None:
    assert is_same_boot(one, other) is is_same
    assert is_same_boot(other, one) is is_same
    order = RemediationOrder(
        check="NodeHealthCheck/workers", reason="r", given=NOW, until=NOW + MINUTE, boot_id=one
    )
    assert order.is_fulfilled_by(other) is (bool(one and other) and not is_same)


@pytest.mark.rule("rule 65")
@pytest.mark.parametrize(
    ("boots", "is_shared"),
    [
        pytest.param([A], False, id="one boot"),
        pytest.param([A, B], False, id="a reboot"),
        pytest.param([A, B, C], False, id="two reboots"),
        pytest.param([A, A, B, B], False, id="each seen twice"),
        pytest.param([A, B, A], True, id="back"),
        pytest.param([A, B, A, B], True, id="in turn"),
        pytest.param([A, B, C, A], True, id="three machines"),
        pytest.param([A, B, A, C], False, id="another boot afterwards"),
        pytest.param([A, "", A], False, id="not reported for a while"),
        pytest.param([A, "", B, "", A], True, id="back, and not reported in between"),
        pytest.param(["7/m/u", "7/n/v", "7/m/u"], True, id="boots that Windows counts"),
        pytest.param(["b", "b/m/u", "b"], False, id="parts that are reported later"),
        pytest.param([f"b//{UUID}", f"b//{SWAPPED}", f"b//{UUID}"], False, id="an upgrade and its undoing"),
    ],
)
def test_boot_that_comes_back_shows_that_two_machines_use_the_name(
    boots: list[str], *, is_shared: bool
) -> None:
    assert bool(showing(*boots).shared_name) is is_shared


@pytest.mark.rule("rule 65")
def test_words_name_the_node_and_both_boots() -> None:
    words = "two machines use the name node-1: boot boot-a came back after boot boot-b"
    assert showing(A, B, A).shared_name == words
    counted = "two machines use the name node-1: boot 7/m/u came back after boot 7/n/v"
    assert showing("7/m/u", "7/n/v", "7/m/u").shared_name == counted
    assert facts_of_node(openshift.target(condition("Ready", "True"))).shared_name == ""


@pytest.mark.rule("rule 65")
def test_another_node_of_the_name_begins_anew() -> None:
    again = node({"bootID": "boot-a"}, uid="another").seen_after(showing(A, B), LOOK)
    assert (again.earlier_boots, again.shared_name) == (None, "")


@pytest.mark.rule("rule 65")
def test_few_boots_are_remembered() -> None:
    known: tuple[str, ...] = ()
    for number in range(100):
        known = earlier_boots(known, f"b{number}", f"b{number + 1}")
    assert len(known) == MOST_EARLIER_BOOTS
    assert not has_come_back(known, "b0")
    assert has_come_back(known, "b99")


@pytest.mark.rule("rule 65")
def test_a_node_that_never_booted_again_remembers_nothing() -> None:
    assert showing(A, A).earlier_boots is None


CHOICE = {"paramedic.dev/proven-recovery": "5m"}
READY = condition("Ready", "True")
THIS_BOOT = fact(NOW, "boot-1", SAME_BOOT)


def booted_node(boot_id: str = "boot-1", **metadata: Any) -> Node:
    body = node_object(READY, **metadata)
    body["status"]["nodeInfo"] = {"bootID": boot_id}
    return Node.model_validate(body)


def of_nodes(annotations: dict[str, str] = CHOICE) -> NodeHealthCheck:
    body = check_object()
    body["metadata"]["annotations"] = annotations
    return NodeHealthCheck.parse(body)


@pytest.mark.parametrize(
    ("check", "target", "seconds"),
    [
        pytest.param(of_nodes(), booted_node(), 300, id="a request for a Node"),
        pytest.param(of_nodes({}), booted_node(), 0, id="no choice"),
        pytest.param(
            openshift.check(CHOICE, remediationTemplate=openshift.TEMPLATE),
            openshift.target(READY),
            300,
            id="a request for a Machine of OpenShift",
        ),
        pytest.param(
            openshift.check(CHOICE | {STRATEGY: EXTERNAL_BAREMETAL}),
            openshift.target(READY),
            300,
            id="a mark, after which a bare-metal host is power-cycled",
        ),
        pytest.param(openshift.check(CHOICE), openshift.target(READY), 0, id="a deletion"),
        pytest.param(
            clusterapi.check(CHOICE, remediation={"templateRef": clusterapi.TEMPLATE}),
            clusterapi.target(READY),
            300,
            id="a request for a Machine of Cluster API",
        ),
        pytest.param(
            clusterapi.check(CHOICE), clusterapi.target(READY), 0, id="a mark, after which an owner deletes"
        ),
    ],
)
def test_proof_is_asked_of_what_comes_back_and_of_nothing_that_is_replaced(
    check: HealthCheck, target: Target, seconds: float
) -> None:
    assert proof_seconds(check, target) == seconds


def test_boot_of_a_machine_is_that_of_its_node() -> None:
    assert booted_node().boot_id == "boot-1"
    assert facts_of_node(openshift.target(READY)).boot_id == ""
    assert facts_of_node(openshift.without_node()).boot_id == ""


def test_fact_is_as_old_as_the_latest_transition_of_what_the_check_judges_by() -> None:
    assert same_boot(of_nodes(), booted_node()) == THIS_BOOT
    assert same_boot(of_nodes(), booted_node("")) is None


@pytest.mark.parametrize(
    ("check", "target", "stated", "is_true"),
    [
        (of_nodes(), booted_node(), THIS_BOOT, True),
        (of_nodes(), booted_node("boot-2"), THIS_BOOT, False),
        (of_nodes(), booted_node(""), THIS_BOOT, False),
        (of_nodes({}), booted_node(), THIS_BOOT, False),
        (of_nodes(), booted_node(annotations={CONFIRMED_HEALTHY: ""}), THIS_BOOT, False),
        (openshift.check(CHOICE), openshift.target(READY), THIS_BOOT, False),
        (of_nodes(), booted_node(), fact(NOW, "Unknown"), False),
        (of_nodes(), Node.model_validate(node_object(condition("Ready", "Unknown"))), fact(NOW), True),
    ],
)
def test_act_finds_out_whether_its_fact_is_still_true(
    check: HealthCheck, target: Target, stated: Fact, *, is_true: bool
) -> None:
    assert still_states(check, stated, target, EMPTY_CONTEXT) is is_true


def test_checks_of_machines_know_when_the_latest_of_their_conditions_changed() -> None:
    later = condition("Ready", "True", NOW + MINUTE)
    other = condition("Elsewhere", "True", NOW + 2 * MINUTE)
    for samples in (openshift, clusterapi):
        check, target = samples.check(), samples.target(later, other)
        assert check.last_transition(target) == NOW + MINUTE
        assert check.last_transition(samples.without_node()) is None
