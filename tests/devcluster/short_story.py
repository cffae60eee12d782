"""A short story, for how a demo begins and ends whatever it tells: nothing fails, and nobody of ours runs."""

from collections.abc import Mapping
from typing import NoReturn

from cli import main
from devcluster.demo import narration, story
from devcluster.demo.environment import Environment
from devcluster.demo.incident import seen
from devcluster.demo.narrator import Narrator
from devcluster.demo.settings import Scenario
from devcluster.demo.story import SCENARIOS, ScenarioSteps
from kube.client import Client
from kube.resource import CONFIG_MAPS
from kube.transport import Transport

NAMESPACE, KEPT = "default", "kept"
"""Of the ConfigMap whose end is that of the story."""


async def play(environment: Environment, narrator: Narrator) -> None:
    """Wait until somebody has looked."""
    async with await Transport.connect(str(environment.dev.kubeconfig)) as transport:
        client = Client(transport, "test")

        async def is_gone() -> bool | None:
            return None if await client.list(CONFIG_MAPS, NAMESPACE, name=KEPT) else True

        heading = narration.to_look_at("Look for yourself", stays=environment.stays)
        narrator.show(heading, environment.kubectl(f"get configmap {KEPT}"))
        await seen(is_gone)


NODES = SCENARIOS[Scenario.NODE].dev_arguments
SHORT: Mapping[Scenario, ScenarioSteps] = {
    Scenario.NODE: ScenarioSteps((*NODES, "--without", "detector,worker"), play)
}


def run() -> NoReturn:
    """As `paramedic demo`, which tells this then."""
    story.SCENARIOS = SHORT
    main.run()
