"""Plays the rows of a scenario, and has the narrator print them."""

from collections.abc import Iterable
from functools import partial

from devcluster.demo.line import Line
from devcluster.demo.narrator import Narrator
from devcluster.demo.row import DemoStep, Do, Row, Show, Success
from devcluster.demo.stage import Stage


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
    after = partial(stage.words, step.after)
    return Line(stage.words(step.before), after, stage.words(step.failure), step.within)


def _while_it_runs(heading: str, stage: Stage) -> str:
    if stage.environment.stays:
        return heading
    return f"{heading} (until the end of the story; --stay keeps it up)"
