"""What each scenario needs of `paramedic dev`, and who tells it."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from devcluster.demo import acts, cast, machine_acts
from devcluster.demo.narrator import Narrator
from devcluster.demo.settings import Scenario
from devcluster.demo.stage import Stage


@dataclass(frozen=True)
class EventRecorder:
    """How a scenario is told."""

    dev_arguments: tuple[str, ...]
    """What `paramedic dev` is to simulate."""
    play: Callable[[Stage, Narrator], Awaitable[None]]
    """Raises DevclusterError with what did not happen."""


TELLINGS: Mapping[Scenario, EventRecorder] = {
    Scenario.NODE: EventRecorder(("--simulate-nodes", str(cast.NODES)), acts.play),
    Scenario.MACHINE: EventRecorder(
        ("--machines", "--provisioning", str(cast.PROVISIONING_SECONDS)), machine_acts.play
    ),
}
