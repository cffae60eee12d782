"""`paramedic demo`: runs a devcluster, plays the chosen scenario on it, and prints what happens."""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any

from devcluster import layout
from devcluster.demo.dev_process import DevProcess, Ending, PipeConsole, dev_process
from devcluster.demo.fixtures import OWN_CLUSTER, NodeFixtures
from devcluster.demo.narrator import Line, Narrator
from devcluster.demo.scenarios import SCRIPTS
from devcluster.demo.settings import DemoSettings
from devcluster.demo.stage import CONSTANTS, DemoStep, Do, Row, Show, Stage, Success, environment
from devcluster.errors import DemoFailedError, DevclusterError
from kube.errors import KubernetesError


async def play(rows: Iterable[Row], stage: Stage, narrator: Narrator) -> None:
    """Play the rows in their order; raises DevclusterError if an expected event is missing."""
    for row in rows:
        match row:
            case DemoStep():
                await narrator.narrate(line_of(row, stage), row.wait(stage))
            case Do():
                await row.act(stage)
            case Show():
                narrator.show(_while_it_runs(row.heading, stage), row.text(stage))
            case Success():
                narrator.print_success(stage.words(row.text))


def line_of(step: DemoStep, stage: Stage) -> Line[object]:
    """The texts of the step with the values of the stage."""
    return Line(
        before=stage.words(step.before),
        after=partial(stage.words, step.after),
        failure=stage.words(step.failure),
        within=step.within,
        advice=step.advice,
    )


def _while_it_runs(heading: str, stage: Stage) -> str:
    if stage.environment.stays:
        return heading
    return f"{heading} (until the end of the story; --stay keeps it up)"


LONGEST = timedelta(seconds=120)
"""The limit for the scenario, without the start, in which servers may have to be built."""
AT_ONCE_AGAIN = ("--back-off-limit", "0")
"""Without back-off, so that the demo can be played twice on one directory."""
SUCCESS, FAILURE = 0, 1


@dataclass(frozen=True, kw_only=True)
class Performance:
    """The rows to play in one cluster."""

    rows: Sequence[Row]
    constants: Mapping[str, object] = field(default_factory=lambda: CONSTANTS)
    """The values that the texts of the rows name."""
    longest: timedelta = LONGEST
    nodes: NodeFixtures = OWN_CLUSTER
    kubectl_options: str | None = None
    """The options of kubectl for this cluster; None selects the kubeconfig of the servers."""
    stays: str = "Everything keeps running until Ctrl-C."


async def run(settings: DemoSettings) -> int:
    """Play the demo; the exit code of the process, 0 on success.

    Must run on the main thread: SIGINT and SIGTERM end it. Raises SettingsError.
    """
    layout.prepare(settings.directory)
    ending = Ending()
    ending.listen_to_signals()
    narrator = Narrator(PipeConsole(ending))
    parts = "A Kubernetes control plane, Temporal, a detector and a worker"
    narrator.remark(f"{parts} start in {settings.directory}.")
    script = SCRIPTS[settings.scenario]
    module = ("cli.main", "dev", *script.dev_arguments, *AT_ONCE_AGAIN)
    performance = Performance(rows=script.rows)
    async with dev_process(settings.directory, module, narrator.remark) as process:
        try:
            return await perform(performance, process, settings, narrator, ending)
        except (DevclusterError, KubernetesError) as error:
            narrator.print_failure(str(error))
            narrator.show("Logs", str(settings.directory / "logs"))
            return FAILURE
        finally:
            narrator.remark("Everything is being ended.")


async def perform(
    performance: Performance, process: DevProcess, settings: DemoSettings, narrator: Narrator, ending: Ending
) -> int:
    """Play on the servers as soon as they are ready; the exit code of the process.

    Raises DevclusterError if an expected event is missing or the servers end.
    """
    story = asyncio.create_task(_run_scenario(performance, process, settings, narrator))
    ends = (asyncio.create_task(process.death()), asyncio.create_task(ending.requested()))
    try:
        if story not in await _first((story, *ends)):
            return ending.code
        if settings.stay:
            narrator.print_success(performance.stays)
            await _first(ends)
        return SUCCESS
    finally:
        await _cancel((story, *ends))


async def _run_scenario(
    performance: Performance, process: DevProcess, settings: DemoSettings, narrator: Narrator
) -> None:
    nodes, longest = performance.nodes, performance.longest.total_seconds()
    async with environment(process, settings, nodes, performance.kubectl_options) as ready:
        try:
            async with asyncio.timeout(longest):
                await play(performance.rows, Stage(ready, performance.constants), narrator)
        except TimeoutError as error:
            raise DemoFailedError(f"The story did not end within {longest:.0f} s.") from error


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
