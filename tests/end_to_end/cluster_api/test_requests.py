"""Requests of a check with a template: one for each failed Machine, and what is reported without one."""

from datetime import UTC, datetime, timedelta

import pytest

from devcluster.simulation.machine_api import GROUP
from health.model.remediation_order import REMEDIATE, RemediationOrder
from kube.errors import NotFound
from tests.end_to_end.cluster_api.fleet import CLUSTER, EXTERNAL, OWNER, SUCCEEDED, Fleet
from tests.support.story.machine_incidents import CHECK
from tests.support.story.world import REQUESTS, TEMPLATES

pytestmark = pytest.mark.cluster

WAITING, NOT_FOUND = "WaitingForRemediation", "RemediationTemplateNotFound"
CLONED_FROM = "PowerCycleRemediationTemplate.demo.paramedic.dev"
AVAILABLE = "ExternalRemediationTemplateAvailable"


@pytest.mark.rule(
    "CAPI B.2.5/request",
    "CAPI B.2.5/recovered",
    "CAPI B.2.5/each",
    "CAPI B.1/annotation/cloned-from",
    "CAPI B.1/condition/ExternallyRemediated",
    "CAPI B.2.5/no template",
    "rule 29",
    "rule 30",
    "rule 45",
)
async def test_each_failed_machine_gets_a_request_once_there_is_a_template_which_goes_when_it_has_recovered(
    fleet: Fleet,
) -> None:
    first, second, healthy = await fleet.add("first", "second", "healthy")
    reference = {"apiVersion": TEMPLATES.api_version, "kind": TEMPLATES.kind, "name": CHECK}
    check = await fleet.add_check(remediation={"templateRef": reference})
    await fleet.until_healthy(first, second, healthy)
    await fleet.nodes.fail(first)
    missing = f'Remediation template not found: "{TEMPLATES.kind}/{fleet.namespace}/{CHECK} not found"'
    await check.until_condition(AVAILABLE, status="False", message=missing)
    await fleet.until_said(first, EXTERNAL, status="False", reason=NOT_FOUND, message=missing)
    assert (await fleet.until_said(first, SUCCEEDED, status="False"))["reason"] == "UnhealthyNode"
    await fleet.until_held(first, "Disabled: ")
    await fleet.add_template()
    await fleet.until_state(first, lambda state: state.phase == "Remediating")
    await check.until_condition(AVAILABLE, status="True")
    await fleet.nodes.fail(second)
    await fleet.until_state(second, lambda state: state.phase == "Remediating")

    request = await fleet.client.get(REQUESTS, first, fleet.namespace)
    assert request["spec"] == {"powerOffSeconds": 7}
    metadata = request["metadata"]
    assert metadata["labels"][f"{GROUP}/cluster-name"] == CLUSTER
    assert metadata["annotations"][f"{GROUP}/cloned-from-name"] == CHECK
    assert metadata["annotations"][f"{GROUP}/cloned-from-groupkind"] == CLONED_FROM
    (owner,) = metadata["ownerReferences"]
    assert (owner["kind"], owner["uid"]) == ("Machine", fleet.uids[first])
    assert not owner.get("controller", False)
    await fleet.until_said(first, EXTERNAL, status="False", reason=WAITING)
    assert (await fleet.condition(first, SUCCEEDED))["reason"] == "UnhealthyNode"
    await fleet.nodes.recover(first)
    assert await fleet.outcome(first) == "Remediated"
    await fleet.until_healthy(first)
    with pytest.raises(NotFound):
        await fleet.client.get(REQUESTS, first, fleet.namespace)
    await fleet.world.until(lambda: _is_without(fleet, first, EXTERNAL), f"{EXTERNAL} of {first} stays")
    assert await fleet.client.get(REQUESTS, second, fleet.namespace)
    for name in (first, second, healthy):
        assert not await fleet.condition(name, OWNER)
    await fleet.nodes.recover(second)
    assert await fleet.outcome(second) == "Remediated"
    await _expired_order_is_removed(fleet, healthy)


async def _expired_order_is_removed(fleet: Fleet, machine: str) -> None:
    """The worker removes a person's order from a healthy Machine, and does nothing else to it."""
    until = datetime.now(UTC).replace(microsecond=0)
    check = str(fleet.incident(machine).check)
    given = until - timedelta(minutes=1)
    order = RemediationOrder(check=check, reason="it hangs", given=given, until=until)
    await fleet.set_metadata(machine, annotations={REMEDIATE: order.model_dump_json()})
    assert await fleet.outcome(machine) == "Recovered"
    assert REMEDIATE not in (await fleet.get(machine))["metadata"].get("annotations", {})
    await fleet.until_healthy(machine)
    with pytest.raises(NotFound):
        await fleet.client.get(REQUESTS, machine, fleet.namespace)


async def _is_without(fleet: Fleet, machine: str, type_: str) -> bool:
    return not await fleet.condition(machine, type_)
