"""`make histories`: runs the stories of tests/workflows/scenarios.py and scenarios_of_upgrades.py on a real
Temporal server and keeps what it wrote down.

A file that is there is kept as it is: it stands for workflows that began with the workflow of its day. Only
what is missing is recorded.
"""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Mapping

from temporalio.client import WorkflowHistory
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.testing import TimeSkippingConfig, WorkflowEnvironment

from devcluster import programs
from runtime import search_attributes
from tests.histories.files import HERE, RECORDER, files_of, write
from tests.support.cluster.temporal_servers import TIME_SKIPPING
from tests.support.story.incident import IncidentDriver
from tests.support.story.upgrading import Upgrading
from tests.workflows.scenarios import BARE_SCENARIOS, LONG_SCENARIOS, SCENARIOS, Scenario
from tests.workflows.scenarios_of_upgrades import (
    LONG_UPGRADE_SCENARIOS,
    UPGRADE_SCENARIOS,
    UpgradeScenario,
)

SOON_LONG = "limit.historyCount.suggestContinueAsNew=60"


Recording = Callable[[WorkflowEnvironment, str], Awaitable[list[WorkflowHistory]]]
"""Plays one story on a server under its name, and answers with what that wrote down, run by run."""


async def main() -> None:
    await _record(_incidents(SCENARIOS) | _incidents(BARE_SCENARIOS, are_bare=True), TIME_SKIPPING)
    await _record(_incidents(LONG_SCENARIOS), (*TIME_SKIPPING, SOON_LONG))
    await _record(_upgrades(UPGRADE_SCENARIOS), TIME_SKIPPING)
    await _record(_upgrades(LONG_UPGRADE_SCENARIOS), (*TIME_SKIPPING, SOON_LONG))


def _incidents(scenarios: Mapping[str, Scenario], *, are_bare: bool = False) -> dict[str, Recording]:
    def recording(scenario: Scenario) -> Recording:
        async def play(environment: WorkflowEnvironment, name: str) -> list[WorkflowHistory]:
            incident = IncidentDriver(environment, name)
            await (scenario(incident) if are_bare else _with_workers(incident, scenario))
            return await incident.histories()

        return play

    return {name: recording(scenario) for name, scenario in scenarios.items()}


async def _with_workers(incident: IncidentDriver, scenario: Scenario) -> None:
    async with incident.detector(), incident.worker():
        await scenario(incident)


def _upgrades(scenarios: Mapping[str, UpgradeScenario]) -> dict[str, Recording]:
    def recording(scenario: UpgradeScenario) -> Recording:
        async def play(environment: WorkflowEnvironment, name: str) -> list[WorkflowHistory]:
            upgrading = Upgrading(environment, name)
            async with upgrading.detector(), upgrading.worker():
                await scenario(upgrading)
            return await upgrading.histories()

        return play

    return {name: recording(scenario) for name, scenario in scenarios.items()}


async def _record(recordings: Mapping[str, Recording], settings: tuple[str, ...]) -> None:
    missing = {name: play for name, play in recordings.items() if not files_of(name)}
    if not missing:
        return
    arguments = [argument for value in settings for argument in ("--dynamic-config-value", value)]
    async with await WorkflowEnvironment.start_time_skipping_v2(
        dev_server_existing_path=str(programs.temporal()),
        dev_server_extra_args=arguments,
        ts_config=TimeSkippingConfig(enabled=False),
        data_converter=pydantic_data_converter,
        identity=RECORDER,  # by default it is the name of the machine
    ) as environment:
        await search_attributes.register(environment.client, environment.client.namespace)
        for name, play in missing.items():
            _keep(await play(environment, name), name)


def _keep(histories: list[WorkflowHistory], name: str) -> None:
    for number, history in enumerate(histories, start=1):
        write(HERE / f"{name}-{number}.json", history)
        sys.stdout.write(f"{name}-{number}.json: {len(history.events)} events\n")


if __name__ == "__main__":
    asyncio.run(main())
    sys.stdout.flush()
    os._exit(0)  # threads of the SDK that come back while the interpreter ends abort it (seen with 1.35)
