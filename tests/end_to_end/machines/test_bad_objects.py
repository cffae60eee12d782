"""A check or a Machine that cannot be read affects itself alone, and says what is wrong with it."""

import asyncio
from typing import Any

import pytest

from devcluster.control_plane import ControlPlane
from tests.end_to_end.machines.audit import deletions
from tests.end_to_end.machines.machines import FINALIZER, Machines

pytestmark = pytest.mark.cluster

BAD: dict[str, tuple[dict[str, Any], str, str]] = {
    "selector": ({"selector": {"matchLabels": {"bad key": "x"}}}, "spec.selector", "bad key"),
    "negative": ({"maxUnhealthy": -1}, "spec.maxUnhealthy", "-1"),
    "ages": ({"nodeStartupTimeout": "99999999999h"}, "spec.nodeStartupTimeout", "99999999999h"),
    "timeout": (
        {"unhealthyConditions": [{"type": "Ready", "status": "Unknown"}]},
        "spec.unhealthyConditions",
        "timeout",
    ),
}


@pytest.mark.rule("MHC A.1/refused", "rule 8", "rule 44", "rule 15")
async def test_check_that_cannot_be_read_says_field_and_value_once_and_blinds_nobody(
    machines: Machines, control_plane: ControlPlane
) -> None:
    (name,) = await machines.add("a", finalizers=[FINALIZER])
    bad = {key: await machines.add_check(key, **spec) for key, (spec, _, _) in BAD.items()}
    good = await machines.add_check("good")
    await machines.world.fail(name)

    await machines.until_going(name)
    await good.until_numbers(1, 0, 0)
    for key, (_, field, value) in BAD.items():
        said = await bad[key].until_condition("RemediationAllowed", reason="InvalidSpec")
        assert (said["status"], said["severity"]) == ("False", "Error")
        told = await machines.until_told(key, "InvalidSpec")
        assert told["type"] == "Warning"
        for text in (said["message"], told["message"]):
            assert field in text
            assert value in text
        assert not await machines.has_incident(name, key)
    versions = [await check.version() for check in bad.values()]
    await bad["negative"].edit(maxUnhealthy=1)
    await bad["negative"].until_condition("RemediationAllowed", status="True")
    await machines.let_go(name)
    assert await machines.outcome(name, "good") == "Remediated"
    await good.until_numbers(0, 0, 0)
    after = [await check.version() for check in bad.values()]
    assert [a == b for a, b in zip(versions, after, strict=True)] == [True, False, True, True]
    await bad["negative"].until_numbers(0, 0, 1)
    await bad["negative"].edit(maxUnhealthy=-1)
    await bad["negative"].until_condition("RemediationAllowed", reason="InvalidSpec")
    status = (await bad["negative"].get())["status"]
    assert (set(status), status["remediationsAllowed"]) == ({"conditions", "remediationsAllowed"}, 0)
    assert deletions(control_plane.audit_log, machines.namespace, name) == [200]


@pytest.mark.rule("rule 8/Machine")
async def test_machine_that_cannot_be_read_is_left_out_and_the_others_are_cared_for(
    machines: Machines,
) -> None:
    broken, name = await machines.add("broken", "a")
    check = await machines.add_check()
    await check.until_numbers(2, 2, 2)
    # The schema says nothing about the name of a time's zone.
    await machines.set_status(broken, nodeRef={"name": broken}, lastUpdated="0000-01-01T00:00:00Z")
    await check.until_numbers(1, 1, 1)
    await machines.world.fail(broken, name)

    assert await machines.outcome(name) == "Remediated"
    assert not await machines.is_going(broken)
    await check.until_numbers(0, 0, 0)
    await machines.set_status(broken, lastUpdated="2026-01-01T00:00:00Z")
    assert await machines.outcome(broken) == "Remediated"


@pytest.mark.rule("MHC A.1/kind", "MHC A.1/selector", "MHC A.1/annotation/ignored on Machines")
async def test_machines_of_the_own_namespace_that_the_selector_names_are_targets_whatever_their_notes(
    machines: Machines,
) -> None:
    chosen, other = await machines.add("chosen", "other", finalizers=[FINALIZER])
    notes = {"cluster.x-k8s.io/paused": "", "cluster.x-k8s.io/skip-remediation": ""}
    await machines.set_metadata(chosen, labels={"pool": "a"}, annotations=notes)
    check = await machines.add_check(selector={"matchExpressions": [{"key": "pool", "operator": "Exists"}]})
    await check.until_numbers(1, 1, 1)
    await machines.world.fail(chosen, other)

    await machines.until_going(chosen)
    assert not await machines.is_going(other)
    await machines.set_metadata(other, labels={"pool": "b"})
    await machines.until_going(other)
    await asyncio.gather(machines.let_go(chosen), machines.let_go(other))
    assert [await machines.outcome(name) for name in (chosen, other)] == ["Remediated"] * 2
