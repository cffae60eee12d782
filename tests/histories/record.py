"""`make histories`: runs the stories of tests/workflows/scenarios.py on a real Temporal server and keeps what
it wrote down.

A file that is there is kept as it is: it stands for incidents that began with the workflow of its day. Only
what is missing is recorded.
"""

import asyncio
import os
import sys
from collections.abc import Mapping

from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.testing import TimeSkippingConfig, WorkflowEnvironment

from devcluster import programs
from runtime import search_attributes
from tests.conftest import TIME_SKIPPING
from tests.histories.files import HERE, RECORDER, files_of, write
from tests.workflows.incident import IncidentDriver
from tests.workflows.scenarios import BARE_SCENARIOS, LONG_SCENARIOS, SCENARIOS, Scenario

SOON_LONG = "limit.historyCount.suggestContinueAsNew=60"


async def main() -> None:
    """Record what is missing."""
    await _record(SCENARIOS, TIME_SKIPPING)
    await _record(LONG_SCENARIOS, (*TIME_SKIPPING, SOON_LONG))
    await _record(BARE_SCENARIOS, TIME_SKIPPING, are_bare=True)


async def _record(
    scenarios: Mapping[str, Scenario], settings: tuple[str, ...], *, are_bare: bool = False
) -> None:
    missing = {name: scenario for name, scenario in scenarios.items() if not files_of(name)}
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
        for name, scenario in missing.items():
            incident = IncidentDriver(environment, name)
            await (scenario(incident) if are_bare else _with_workers(incident, scenario))
            await _keep(incident, name)


async def _with_workers(incident: IncidentDriver, scenario: Scenario) -> None:
    async with incident.detector(), incident.worker():
        await scenario(incident)


async def _keep(incident: IncidentDriver, name: str) -> None:
    histories = await incident.histories()
    histories.sort(key=lambda history: history.events[0].event_time.ToNanoseconds())
    for number, history in enumerate(histories, start=1):
        write(HERE / f"{name}-{number}.json", history)
        sys.stdout.write(f"{name}-{number}.json: {len(history.events)} events\n")


if __name__ == "__main__":
    asyncio.run(main())
    sys.stdout.flush()
    os._exit(0)  # threads of the SDK that come back while the interpreter ends abort it (seen with 1.35)
