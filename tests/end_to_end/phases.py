"""Four nodes of one escalating check, each in another phase of an incident."""

from dataclasses import dataclass
from datetime import UTC, datetime

from health.model.node import EXCLUDE_LABEL
from tests.support.story.escalation import Escalation
from tests.support.story.world import World


@dataclass(frozen=True)
class Phases:
    """The names of the nodes, by phase."""

    waiting: str
    """The timer is running."""
    held: str
    """The label excludes the node."""
    remediating: str
    """The first step is under way."""
    escalated: str
    """The first step has failed, and the second is under way."""

    @property
    def all(self) -> tuple[str, ...]:
        return (self.waiting, self.held, self.remediating, self.escalated)


async def add_phases(world: World) -> Phases:
    """Add the check, and nodes in all phases."""
    phases = Phases(**await world.add_named_nodes("waiting", "held", "remediating", "escalated"))
    await world.set_label(phases.held, EXCLUDE_LABEL, "true")
    await add_check(world)
    await until_in_phase(world, phases)
    return phases


async def add_check(world: World) -> None:
    """Add a check with two steps and a longer timer for Ready=False than for Ready=Unknown."""
    conditions = [
        {"type": "Ready", "status": "Unknown", "duration": "1s"},
        {"type": "Ready", "status": "False", "duration": "5m"},
    ]
    await Escalation(world).add("1", "2", unhealthyConditions=conditions)


async def until_in_phase(world: World, phases: Phases) -> None:
    """Let the nodes fail, and wait until each is in its phase."""
    escalation = Escalation(world)
    await world.set_ready(phases.waiting, "False", datetime.now(UTC))
    await world.fail(phases.held, phases.remediating, phases.escalated)
    await escalation.until_steps(phases.remediating, "1")
    await escalation.until_steps(phases.escalated, "1")
    await escalation.report(phases.escalated, "1", "False")
    await escalation.until_steps(phases.escalated, "1", "2")
    await world.until_phase(phases.waiting, "Waiting")
    await world.until_phase(phases.held, "Held")
