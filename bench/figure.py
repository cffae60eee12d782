"""Figure: one measured number beside its goal, and beside what the operators need."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """One line of the report; a figure is met when it is at most its goal."""

    name: str
    measured: float
    goal: float | None
    unit: str
    reference: str = ""
    """What the operator needs, on the same kind of machine."""

    @property
    def verdict(self) -> str:
        """Whether the goal is met; a figure without a goal is told as it is."""
        if self.goal is None:
            return ""
        return "met" if self.measured <= self.goal else "SHORT"


def percentile(samples: Sequence[float], share: float) -> float:
    """The sample that `share` of all do not exceed."""
    ordered = sorted(samples)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def table(figures: Sequence[Figure]) -> str:
    """The report as a Markdown table."""
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
