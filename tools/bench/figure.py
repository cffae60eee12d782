"""Figure: a measured number, its goal, and the number of the reference operator."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass


@dataclass(frozen=True)
class Figure:
    """One line of the report; the goal is the largest good number."""

    name: str
    measured: float
    _: KW_ONLY
    unit: str = ""
    goal: float | None = None
    reference: str = ""
    """The number of the operator, on the same kind of machine."""

    @property
    def verdict(self) -> str:
        """Either "met" or "SHORT"; "" for a figure without a goal."""
        if self.goal is None:
            return ""
        return "met" if self.measured <= self.goal else "SHORT"


LONGEST_STOP_MILLISECONDS = 200


def longest_stop(case: str, seconds: float) -> Figure:
    """The longest time for which a case blocked the event loop."""
    return Figure(f"longest stop, {case}", 1000 * seconds, unit="ms", goal=LONGEST_STOP_MILLISECONDS)


def percentile(samples: Sequence[float], share: float) -> float:
    """The sample that `share` of all do not exceed."""
    ordered = sorted(samples)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def latencies(
    name: str, samples: Sequence[float], goals: tuple[float | None, float], reference: str = ""
) -> list[Figure]:
    """The percentiles 50 and 99 of seconds, with the goal of each."""
    return [
        Figure(
            f"{name}, p{percent}",
            percentile(samples, percent / 100),
            unit="s",
            goal=goal,
            reference=reference,
        )
        for percent, goal in zip((50, 99), goals, strict=True)
    ]


def table(figures: Sequence[Figure]) -> str:
    rows = [("figure", "measured", "goal", "", "reference"), ("---",) * 5]
    rows += [
        (
            figure.name,
            f"{figure.measured:.3g} {figure.unit}".rstrip(),
            "" if figure.goal is None else f"{figure.goal:g} {figure.unit}".rstrip(),
            figure.verdict,
            figure.reference,
        )
        for figure in figures
    ]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)
