"""What each scenario needs of `paramedic dev`, and who tells it."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from devcluster.demo import fixtures, machine_scenario, node_scenario
from devcluster.demo.environment import Environment
from devcluster.demo.narrator import Narrator
from devcluster.demo.settings import Scenario


@dataclass(frozen=True)
class ScenarioSteps:
    """How a scenario is told."""

    dev_arguments: tuple[str, ...]
    """What `paramedic dev` is to simulate."""
    play: Callable[[Environment, Narrator], Awaitable[None]]
    """Raises DevclusterError with what did not happen."""


SCENARIOS: Mapping[Scenario, ScenarioSteps] = {
    Scenario.NODE: ScenarioSteps(("--simulate-nodes", str(fixtures.NODES)), node_scenario.play),
    Scenario.MACHINE: ScenarioSteps(
        ("--machines", "--provisioning", str(fixtures.PROVISIONING_SECONDS)), machine_scenario.play
    ),
}
