"""`paramedic demo`: runs a devcluster, plays the chosen scenario on it, and prints what happens."""

import asyncio
from collections.abc import Collection
from datetime import timedelta
from typing import Any

from devcluster import layout
from devcluster.demo.dev_process import DevProcess, Ending, PipeConsole, dev_process
from devcluster.demo.environment import environment
from devcluster.demo.errors import DemoFailedError
from devcluster.demo.narrator import Narrator
from devcluster.demo.player import play
from devcluster.demo.scenarios import SCRIPTS
from devcluster.demo.settings import DemoSettings
from devcluster.demo.stage import Stage
from devcluster.errors import DevclusterError
from kube.errors import KubernetesError

LONGEST = timedelta(seconds=120)
"""The limit for the scenario, without the start, in which servers may have to be built."""
AT_ONCE_AGAIN = ("--back-off-limit", "0")
"""Without back-off, so that the demo can be played twice on one directory."""
SUCCESS, FAILURE = 0, 1


async def run(settings: DemoSettings) -> int:
    """Play the demo; the exit code of the process, 0 on success.

    Must run on the main thread: SIGINT and SIGTERM end it. Raises SettingsError.
    """
    layout.prepare(settings.directory)
    layout.require_room_for_socket(settings.directory)
    ending = Ending()
    ending.listen_to_signals()
    narrator = Narrator(PipeConsole(ending))
    parts = "A Kubernetes control plane, Temporal, a detector and a worker"
    narrator.remark(f"{parts} start in {settings.directory}.")
    arguments = (*SCRIPTS[settings.scenario].dev_arguments, *AT_ONCE_AGAIN)
    async with dev_process(settings.directory, arguments, narrator.remark) as process:
        try:
            return await _play(process, settings, narrator, ending)
        except (DevclusterError, KubernetesError) as error:
            narrator.print_failure(str(error))
            narrator.show("Logs", str(settings.directory / "logs"))
            return FAILURE
        finally:
            narrator.remark("Everything is being ended.")


async def _play(process: DevProcess, settings: DemoSettings, narrator: Narrator, ending: Ending) -> int:
    story = asyncio.create_task(_run_scenario(process, settings, narrator))
    ends = (asyncio.create_task(process.death()), asyncio.create_task(ending.requested()))
    try:
        if story not in await _first((story, *ends)):
            return ending.code
        if settings.stay:
            narrator.print_success("Everything keeps running until Ctrl-C.")
            await _first(ends)
        return SUCCESS
    finally:
        await _cancel((story, *ends))


async def _run_scenario(process: DevProcess, settings: DemoSettings, narrator: Narrator) -> None:
    async with environment(process, settings) as ready:
        try:
            async with asyncio.timeout(LONGEST.total_seconds()):
                await play(SCRIPTS[settings.scenario].rows, Stage(ready), narrator)
        except TimeoutError as error:
            raise DemoFailedError(f"The story did not end within {LONGEST.total_seconds():.0f} s.") from error


async def _first(tasks: Collection[asyncio.Task[Any]]) -> set[asyncio.Task[Any]]:
    """The tasks that ended first; raises the error of one of them."""
    ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in ended:
        task.result()
    return ended


async def _cancel(tasks: Collection[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
