"""Incidents of a second check, in the phases that need several steps or a healthy delay.

As with the other incidents, the facts alone determine the expected result.
"""

from dataclasses import dataclass
from pathlib import Path

from health.model.node import CONFIRMED_HEALTHY
from health.model.remediation_request import HEALTHY_DELAY
from kube.resource import Object, Resource
from tests.end_to_end.restarts.audit import created_requests
from tests.support.story.escalation import Escalation, reported
from tests.support.story.other_kind import OtherKind
from tests.support.story.world import REQUESTS, World


@dataclass(frozen=True)
class Course:
    """The expected course of one incident during and after an outage."""

    before: str
    """Its phase when the outage begins."""
    after: str
    """Its outcome, or the phase in which it stays, according to the facts after the outage."""
    requests: int
    """How many requests it creates in all; in an escalation, one for each step."""


COURSES = {
    "fails-a-step": Course("Remediating", "Remediating", 2),  # its remediator reports a failure
    "has-no-step-left": Course("Exhausted", "Exhausted", 2),
    "is-delayed": Course("HealthyDelay", "HealthyDelay", 1),
    "is-confirmed": Course("HealthyDelay", "Remediated", 1),  # a user confirms the recovery
}
OPEN = [role for role, course in COURSES.items() if course.after != "Remediated"]


class Escalations:
    """A second set of incidents in one test, with its own nodes, templates and check."""

    def __init__(self, beside: World, audit_log: Path, second: OtherKind) -> None:
        self._beside = beside
        self._audit_log = audit_log
        self._world = World(beside.client, beside.temporal, beside.cluster, beside.requests)
        self._second = second
        self._nodes: dict[str, str] = {}
        self._before: dict[str, tuple[str, str | None]] = {}

    async def begin(self) -> None:
        world = self._world
        world.patience = self._beside.patience
        await self._add_check()
        self._nodes = nodes = await world.add_named_nodes(*COURSES)
        await world.fail(*nodes.values())
        await world.until_requested(*nodes.values())
        await world.recover(nodes["is-delayed"], nodes["is-confirmed"])
        await self._fail_a_step("has-no-step-left", REQUESTS)
        await self._until_second_steps("has-no-step-left")
        await self._fail_a_step("has-no-step-left", self._second.requests)
        for role, course in COURSES.items():
            await world.until_phase(nodes[role], course.before)
        await Escalation(world).until_told_once(nodes["has-no-step-left"])
        self._before = {role: await self._first_request(role) for role in OPEN}

    async def _add_check(self) -> None:
        await self._world.add_template()
        steps = [self._world.template(), self._second.template]
        escalation = [
            {"remediationTemplate": template, "order": order, "timeout": "1h"}
            for order, template in enumerate(steps)
        ]
        await self._world.add_check(escalatingRemediations=escalation, healthyDelay="1h")

    async def change(self) -> None:
        """Change the facts of every incident, except those that continue unchanged."""
        await self._fail_a_step("fails-a-step", REQUESTS)
        await self._world.set_annotation(self._nodes["is-confirmed"], CONFIRMED_HEALTHY, "true")

    async def _fail_a_step(self, role: str, requests: Resource) -> None:
        subresource = "status" if requests is REQUESTS else None
        await self._world.client.merge_patch(
            requests, self._nodes[role], reported("False"), "default", subresource=subresource
        )

    async def must_have_gone_on(self) -> None:
        """Each incident must follow the facts, and the status of the check must agree."""
        world, nodes = self._world, self._nodes
        assert await world.outcome(nodes["is-confirmed"]) == "Remediated"
        await world.until_clean(nodes["is-confirmed"])
        await self._until_second_steps("fails-a-step", "has-no-step-left")
        for role in OPEN:
            await world.until_phase(nodes[role], COURSES[role].after)
            assert await self._first_request(role) == self._before[role]
            assert await world.lease(nodes[role]) is not None, role
        await world.until_status(observedNodes=len(COURSES), healthyNodes=1, phase="Remediating")
        await self._status_must_be_true()
        self._none_must_have_been_made_twice()

    async def must_end_clean(self) -> None:
        """After the recovery of all nodes, without a delay, all requests and Leases must be gone."""
        world, nodes = self._world, self._nodes
        await world.edit_check(healthyDelay=None)
        await world.recover(*nodes.values())
        for role in OPEN:
            assert await world.outcome(nodes[role]) == "Remediated", role
        await world.until_clean(*nodes.values())
        await self._until_second_steps()
        await world.until_status(healthyNodes=len(COURSES), phase="Enabled", unhealthyNodes=None)
        self._none_must_have_been_made_twice()
        await Escalation(world).until_told_once(nodes["has-no-step-left"])
        await world.remove()

    async def _until_second_steps(self, *roles: str) -> None:
        """Wait until exactly these incidents have a request of the second step."""
        nodes = {self._nodes[role] for role in roles}

        async def are_there() -> bool:
            return set(await self._second.names()) == nodes

        await self._world.until(are_there, f"there never was a second step of {roles} and no others")

    async def _first_request(self, role: str) -> tuple[str, str | None]:
        """The first request of an incident, and since when its node is healthy."""
        metadata: Object = (await self._world.request(self._nodes[role]))["metadata"]
        return metadata["uid"], metadata["annotations"].get(HEALTHY_DELAY)

    async def _status_must_be_true(self) -> None:
        """The status of each node must list one request for each of its steps."""
        expected = {self._nodes[role]: COURSES[role].requests for role in OPEN}

        async def is_reported() -> bool:
            unhealthy = (await self._world.status())["unhealthyNodes"]
            return expected == {node["name"]: len(node["remediations"]) for node in unhealthy}

        await self._world.until(is_reported, f"the status never told {expected}")

    def _none_must_have_been_made_twice(self) -> None:
        kinds = (REQUESTS, self._second.requests)
        created = [name for kind in kinds for name in created_requests(self._audit_log, kind)]
        made = {role: created.count(node) for role, node in self._nodes.items()}
        assert made == {role: course.requests for role, course in COURSES.items()}
