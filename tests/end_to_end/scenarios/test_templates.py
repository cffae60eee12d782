"""Missing, invalid, edited and restored templates, and kinds that come and go while we run."""

from datetime import datetime, timedelta

import pytest

from kube.resource import Object
from tests.support.story.other_kind import OtherKind
from tests.support.story.world import TEMPLATES, World

pytestmark = pytest.mark.cluster

SOON = timedelta(seconds=20)
"""Less than the minute after which an incident asks again without a wake."""


def _created(thing: Object) -> datetime:
    return datetime.fromisoformat(thing["metadata"]["creationTimestamp"])


async def _until_requested(world: World, other: OtherKind, node: str) -> None:
    async def is_requested() -> bool:
        return await other.names() == [node]

    await world.until(is_requested, f"no request for {node}")


@pytest.mark.rule(
    "NHC 2.1/5",
    "NHC 2.1/6",
    "NHC 2.0/template",
    "NHC 1.3/Disabled/RemediationTemplateNotFound",
    "NHC 1.5/Disabled/template",
    "NHC 2.7/template deleted",
    "NHC 2.4/2",
    "rule 3",
    "rule 7",
    "rule 7/clean-up",
    "rule 17",
)
async def test_template_that_is_deleted_disables_the_check_until_it_is_back_and_stops_no_remediation(
    world: World,
) -> None:
    at_work, later = (await world.add_named_nodes("at-work", "later")).values()
    await world.add_check()
    await world.fail(at_work)
    await world.until_phase(at_work, "Remediating")
    await world.client.delete(TEMPLATES, world.name, "default")
    missing = f'Remediation template not found: "{TEMPLATES.kind}/default/{world.name} not found"'
    await world.until_status(
        phase="Disabled",
        reason=f"NHC is disabled: RemediationTemplateNotFound: {missing}",
        observedNodes=2,
        healthyNodes=1,
    )
    await world.fail(later)

    await world.until_phase(later, "Held")
    assert f"Disabled: RemediationTemplateNotFound: {missing}" in (await world.state(later)).details
    await world.until_status(phase="Disabled", observedNodes=2, healthyNodes=0)
    (condition,) = (await world.status())["conditions"]
    assert condition["type"] == "Disabled"
    assert (condition["status"], condition["reason"]) == ("True", "RemediationTemplateNotFound")
    assert world.requests.existing(at_work) == 1
    assert await world.lease(at_work) is not None
    await world.recover(at_work)
    assert await world.outcome(at_work) == "Remediated"
    await world.until_clean(at_work)
    await world.until_status(phase="Disabled", healthyNodes=1, unhealthyNodes=[{"name": later}])
    assert world.requests.created(later) == 0
    await world.until_told("Disabled", missing)
    await world.add_template()

    await world.until_requested(later)
    template = await world.client.get(TEMPLATES, world.name, "default")
    assert _created(await world.request(later)) - _created(template) <= SOON
    await world.until_status(phase="Remediating")
    told = [event for event in await world.events() if event[1] == "Disabled"]
    assert told == [
        (
            "Warning",
            "Disabled",
            f"[remediation] Disabling NHC. Reason: RemediationTemplateNotFound, Message: {missing}",
        ),
    ]


@pytest.mark.rule("NHC 2.1/5", "NHC 2.1/7", "NHC 2.0/request", "NHC 1.3/Disabled/RemediationTemplateNotFound")
async def test_kinds_that_are_installed_after_our_start_are_worked_with_and_removed_ones_disable_the_check(
    world: World,
) -> None:
    other = OtherKind(world.client)
    await other.grant()
    (node,) = await world.add_nodes(1)
    await world.add_check(remediationTemplate=other.template)
    await world.fail(node)
    unknown = f"the API server serves no kind ResetTemplate in {other.api_version}"
    disabled = f'NHC is disabled: RemediationTemplateNotFound: Remediation template not found: "{unknown}"'
    await world.until_status(phase="Disabled", reason=disabled)
    await world.until_phase(node, "Held")

    await other.install()
    await _until_requested(world, other, node)
    await world.until_status(phase="Remediating")

    await other.uninstall()
    await world.until_status(phase="Disabled", reason=disabled)
    await world.until_phase(node, "Held")
