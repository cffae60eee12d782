"""The incidents of the Machines in one namespace, and the Events about its objects."""

import asyncio
from collections.abc import Callable
from typing import Any

from temporalio.client import WorkflowExecutionStatus, WorkflowHandle

from devcluster.errors import NotReadyError
from health.model.references import CheckReference, IncidentReference, TargetReference
from kube.resource import EVENTS, Object
from tests.support.story.outcome import outcome_of
from tests.support.story.world import World
from workflows.messages import State

CHECK = "workers"


class MachineIncidents:
    """Incidents of Machines of one API group, in the namespace of one test."""

    def __init__(self, world: World, group: str) -> None:
        self.world = world
        self.client = world.client
        self.namespace = world.name
        self.group = group
        self.uids: dict[str, str] = {}
        """Of all Machines that there were, by name."""

    def incident(self, machine: str, check: str = CHECK) -> IncidentReference:
        """The reference of a Machine's incident, whether or not it exists."""
        return IncidentReference(
            cluster=self.world.cluster,
            check=CheckReference(
                kind="MachineHealthCheck", group=self.group, namespace=self.namespace, name=check
            ),
            target=TargetReference(
                kind="Machine",
                group=self.group,
                namespace=self.namespace,
                name=machine,
                uid=self.uids[machine],
            ),
        )

    def workflow(self, machine: str, check: str = CHECK) -> WorkflowHandle[Any, Any]:
        return self.world.temporal.get_workflow_handle(self.incident(machine, check).workflow_id)

    async def has_incident(self, machine: str, check: str = CHECK) -> bool:
        """True if that incident ever had a workflow, open or closed."""
        query = f"WorkflowId = '{self.incident(machine, check).workflow_id}'"
        return (await self.world.temporal.count_workflows(query)).count > 0

    async def state(self, machine: str, check: str = CHECK) -> State:
        state: State = await self.workflow(machine, check).query("state", result_type=State)
        return state

    async def until_state(self, machine: str, is_so: Callable[[State], bool], check: str = CHECK) -> State:
        """Wait until the result of the query `state` satisfies `is_so`, and return it."""
        found: list[State] = []

        async def has_come() -> bool:
            found[:] = [await self.state(machine, check)] if await self.has_incident(machine, check) else []
            return bool(found) and is_so(found[0])

        try:
            await self.world.until(has_come, f"the incident of {machine} never was so")
        except NotReadyError:
            raise NotReadyError(f"the incident of {machine} was never so; at last {found}") from None
        return found[0]

    async def until_held(self, machine: str, words: str, check: str = CHECK) -> State:
        """Wait until the incident is held with these words, and return its state."""
        return await self.until_state(
            machine, lambda state: state.phase == "Held" and words in state.details, check
        )

    async def until_ended(self, *machines: str) -> None:
        """Wait until all these incidents have ended."""

        async def all_ended() -> bool:
            for machine in machines:
                described = await self.workflow(machine).describe()
                if described.status is WorkflowExecutionStatus.RUNNING:
                    return False
            return True

        await self.world.until(all_ended, f"incidents of {machines} still run")

    async def outcome(self, machine: str, check: str = CHECK) -> str:
        """Wait for the incident of a Machine to end, and return its outcome."""

        async def has_begun() -> bool:
            return await self.has_incident(machine, check)

        await self.world.until(has_begun, f"{machine} never had an incident")
        async with asyncio.timeout(self.world.patience.total_seconds()):
            return await outcome_of(self.workflow(machine, check))

    async def events(self, name: str, reason: str = "") -> list[Object]:
        """The Events about an object of the namespace, of one reason if given."""
        found = await self.client.list(EVENTS, self.namespace)
        about = [event for event in found if event["involvedObject"]["name"] == name]
        return [event for event in about if reason in ("", event["reason"])]

    async def until_told(self, name: str, reason: str) -> Object:
        """Wait for the one Event with that reason about an object, and return it."""

        async def is_reported() -> bool:
            return bool(await self.events(name, reason))

        await self.world.until(is_reported, f"{reason} was never told of {name}")
        (event,) = await self.events(name, reason)
        return event
