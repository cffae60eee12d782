"""`paramedic demo`: runs a devcluster, plays the chosen scenario on it, and prints what happens."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from devcluster import layout
from devcluster.demo.narrator import Narrator
from devcluster.demo.process import DevProcess, Ending, PipeConsole, dev_process
from devcluster.demo.scenarios import SCRIPTS, Scenario
from devcluster.demo.stage import PlayOptions, Stage, stage
from devcluster.errors import DemoFailedError, DevclusterError
from kube.errors import KubernetesError

AT_ONCE_AGAIN = ("--back-off-limit", "0")
"""Without back-off, so that the demo can be played twice on one directory."""
SUCCESS, FAILURE = 0, 1


@dataclass(frozen=True)
class DemoSettings:
    """The directory and the scenario of the demo, and whether it keeps running."""

    directory: Path
    """Data, logs and dev.json; the data of an earlier demo is reused."""
    stay: bool = False
    """Keep everything running after the story, until Ctrl-C."""
    scenario: Scenario = Scenario.NODE


async def run(settings: DemoSettings) -> int:
    """Play the demo; the exit code of the process, 0 on success.

    Must run on the main thread: SIGINT and SIGTERM end it. Raises OptionsError.
    """
    layout.prepare(settings.directory)
    ending = Ending()
    ending.listen_to_signals()
    narrator = Narrator(PipeConsole(ending))
    parts = "A Kubernetes control plane, Temporal, a detector and a worker"
    narrator.remark(f"{parts} start in {settings.directory}.")
    script = SCRIPTS[settings.scenario]
    module = ("cli.main", "dev", *script.dev_arguments, *AT_ONCE_AGAIN)
    async with dev_process(settings.directory, module, narrator.remark) as process:
        try:
            work = perform(script.play, process, PlayOptions(stay=settings.stay), narrator)
            return await ending.unless_requested(work)
        except (DevclusterError, KubernetesError) as error:
            narrator.print_failure(str(error))
            narrator.show("Logs", str(settings.directory / "logs"))
            return FAILURE
        finally:
            narrator.remark("Everything is being ended.")


async def perform(
    play: Callable[[Stage], Awaitable[None]], process: DevProcess, options: PlayOptions, narrator: Narrator
) -> int:
    """Play on the servers as soon as they are ready, and stay if that is set; the exit code 0.

    Raises DevclusterError if an expected event is missing or the servers end.
    """

    async def story() -> None:
        longest = options.longest.total_seconds()
        async with stage(process, options, narrator) as ready:
            try:
                async with asyncio.timeout(longest):
                    await play(ready)
            except TimeoutError as error:
                raise DemoFailedError(f"The story did not end within {longest:.0f} s.") from error
        if options.stay:
            narrator.print_success(options.stays)
            await asyncio.Event().wait()

    tasks = asyncio.create_task(story()), asyncio.create_task(process.death())
    try:
        ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in ended:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return SUCCESS
