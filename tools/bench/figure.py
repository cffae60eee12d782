"""BenchScenario: goals and the function that measures their figures; the table shows both."""

import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import quantiles

from bench.cluster import BenchCluster

SECONDS_OF_UNIT = {"s": 1.0, "ms": 0.001, "% of a core": 0.01}
"""The units of time, which depend on the processor: a figure in another unit has no ratio."""
LONGEST_STOP_MILLISECONDS = 200
LOOP_TURNS = 3_000_000


@dataclass(frozen=True)
class Goal:
    """A figure, and its largest good value."""

    figure: str
    most: float
    unit: str | None = None
    """None for a count."""


Measure = Callable[..., Awaitable[Sequence[float]]]
"""Takes the BenchCluster, and sizes that have defaults; answers the values in the order of the goals."""


@dataclass(frozen=True)
class BenchScenario:
    """One measurement, which has servers of its own."""

    name: str
    goals: tuple[Goal, ...]
    measure: Measure


def scenario(name: str, goals: tuple[Goal, ...]) -> Callable[[Measure], BenchScenario]:
    """Make a scenario of the function that measures it."""
    return lambda measure: BenchScenario(name, goals, measure)


@dataclass(frozen=True)
class Figure:
    """A measured value, and the CPU seconds of the calibration loop around its measurement."""

    goal: Goal
    measured: float
    loop_seconds: float

    @property
    def is_met(self) -> bool:
        return self.measured <= self.goal.most

    @property
    def row(self) -> tuple[str, ...]:
        """The cells of the table; the ratio is the number of calibration loops in the same time."""
        unit = self.goal.unit or ""
        seconds = SECONDS_OF_UNIT.get(unit)
        return (
            self.goal.figure,
            f"{self.measured:.3g} {unit}".rstrip(),
            f"{self.goal.most:g} {unit}".rstrip(),
            "met" if self.is_met else "SHORT",
            "" if seconds is None else f"{self.measured * seconds / self.loop_seconds:.3g}",
        )


def longest_stop(case: str) -> Goal:
    """The longest time for which a case blocks the event loop."""
    return Goal(f"longest stop, {case}", LONGEST_STOP_MILLISECONDS, "ms")


def p50_and_p99(samples: Sequence[float]) -> tuple[float, float]:
    percentiles = quantiles(samples, n=100)
    return percentiles[49], percentiles[98]


def calibration_loop() -> float:
    """The CPU seconds of this thread for a fixed loop of Python, without its waits for a processor."""
    began, total = time.thread_time(), 0
    for number in range(LOOP_TURNS):
        total = (total + number * number) % 1_000_003
    return time.thread_time() - began


async def measured(run: BenchScenario, cluster: BenchCluster) -> list[Figure]:
    """The figures of one scenario; the calibration loop runs right before and right after it."""
    before = calibration_loop()
    values = await run.measure(cluster)
    loop_seconds = (before + calibration_loop()) / 2
    found = zip(run.goals, values, strict=True)
    return [Figure(goal, value, loop_seconds) for goal, value in found]


def table(figures: Sequence[Figure]) -> Iterator[str]:
    """The lines of the table, and how long the calibration loop took."""
    rows = [("figure", "measured", "goal", "", "ratio"), ("---",) * 5, *(figure.row for figure in figures)]
    for row in rows:
        yield "| " + " | ".join(row) + " |"
    loops = [figure.loop_seconds for figure in figures]
    yield f"The ratio is to a loop of Python beside it, of {min(loops):.3g} to {max(loops):.3g} s of CPU."
