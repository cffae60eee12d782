"""ShadowReport: what Paramedic would have done in shadow, beside what the present controller did. Pure.

Of an incident the first step of each side counts: when it came, and by how much earlier or later.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from statistics import median
from typing import Self

from rich.table import Table
from rich.text import Text

from cli.ages import short
from cli.incident_summary import IncidentSummary
from cli.incident_table import GAP
from health.model.shadow_record import ShadowRecord
from objects.frozen import Frozen
from objects.timestamps import stamp


class Acted(StrEnum):
    """Who did something, or would have."""

    BOTH = "both"
    ONLY_PARAMEDIC = "only Paramedic"
    ONLY_OTHER = "only the other"
    NEITHER = "neither"


class Deed(Frozen):
    """What one side did, or would have done, to a target."""

    what: str
    at: datetime
    ended_at: datetime | None = None
    """When it was gone; null: it is there, or was never made."""


class Comparison(Frozen):
    """One incident."""

    workflow_id: str
    run_id: str
    cluster: str
    check: str
    target: str
    started_at: datetime
    closed_at: datetime | None
    acted: Acted
    would_have: tuple[Deed, ...]
    others: tuple[Deed, ...]
    later_by_seconds: float | None
    """By how much Paramedic would have come later; negative: earlier. Null: not both acted."""

    @classmethod
    def of(cls, summary: IncidentSummary, record: ShadowRecord) -> Self:
        """That of an incident which was in shadow."""
        would_have = tuple(Deed(what=str(step), at=step.at) for step in record.steps)
        others = tuple(Deed(what=one.request, at=one.started, ended_at=one.ended) for one in record.others)
        both = would_have and others
        later_by = (would_have[0].at - min(one.at for one in others)).total_seconds() if both else None
        incident = summary.incident
        return cls(
            workflow_id=incident.workflow_id,
            run_id=summary.run_id,
            cluster=incident.cluster,
            check=str(incident.check),
            target=str(incident.target),
            started_at=summary.started,
            closed_at=summary.closed,
            acted=_ACTED[bool(would_have), bool(others)],
            would_have=would_have,
            others=others,
            later_by_seconds=later_by,
        )


_ACTED = {
    (True, True): Acted.BOTH,
    (True, False): Acted.ONLY_PARAMEDIC,
    (False, True): Acted.ONLY_OTHER,
    (False, False): Acted.NEITHER,
}


class Sums(Frozen):
    """Over all incidents."""

    incidents: int
    both: int
    only_paramedic: int
    only_other: int
    neither: int
    median_later_by_seconds: float | None
    earliest_by_seconds: float | None
    latest_by_seconds: float | None

    @classmethod
    def of(cls, comparisons: Sequence[Comparison]) -> Self:
        """Those of these incidents."""
        counted = Counter(one.acted for one in comparisons)
        later = [one.later_by_seconds for one in comparisons if one.later_by_seconds is not None]
        return cls(
            incidents=len(comparisons),
            both=counted[Acted.BOTH],
            only_paramedic=counted[Acted.ONLY_PARAMEDIC],
            only_other=counted[Acted.ONLY_OTHER],
            neither=counted[Acted.NEITHER],
            median_later_by_seconds=median(later) if later else None,
            earliest_by_seconds=min(later, default=None),
            latest_by_seconds=max(later, default=None),
        )

    def __str__(self) -> str:
        if not self.incidents:
            return "no incidents in shadow"
        numbers = (
            (self.both, Acted.BOTH),
            (self.only_paramedic, Acted.ONLY_PARAMEDIC),
            (self.only_other, Acted.ONLY_OTHER),
            (self.neither, Acted.NEITHER),
        )
        parts = ", ".join(f"{number} {acted}" for number, acted in numbers if number)
        times = (self.median_later_by_seconds, self.earliest_by_seconds, self.latest_by_seconds)
        middle, earliest, latest = ("" if one is None else _difference(one) for one in times)
        spread = f"; Paramedic {middle} in the middle, from {earliest} to {latest}" if middle else ""
        return f"{self.incidents} in shadow: {parts}{spread}"


class ShadowView(Frozen):
    """What `-o json` prints."""

    since: datetime
    sums: Sums
    incidents: tuple[Comparison, ...]
    unknown: int
    """Incidents of which nobody could tell whether they were in shadow."""


@dataclass(frozen=True)
class ShadowReport:
    """The comparison of all incidents since some time."""

    since: datetime
    comparisons: tuple[Comparison, ...]
    unknown: int

    @classmethod
    def of(cls, summaries: Iterable[IncidentSummary], since: datetime) -> Self:
        """Of what was found, in the order of their starts."""
        known = sorted(summaries, key=lambda one: (one.started, one.incident.workflow_id))
        found = tuple(Comparison.of(one, one.shadow) for one in known if one.shadow is not None)
        return cls(since, found, sum(bool(one.problem) for one in known))

    @property
    def view(self) -> ShadowView:
        """For `-o json`."""
        return ShadowView(
            since=self.since, sums=Sums.of(self.comparisons), incidents=self.comparisons, unknown=self.unknown
        )

    @property
    def headline(self) -> str:
        """The sums, in words."""
        unknown = f"; of {self.unknown} it is unknown" if self.unknown else ""
        return f"{Sums.of(self.comparisons)}{unknown}"

    @property
    def table(self) -> Table:
        """One line an incident."""
        table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
        for name in ("STARTED", "TARGET", "CHECK", "WOULD HAVE", "THE OTHER", "PARAMEDIC"):
            table.add_column(name, overflow="fold")
        for one in self.comparisons:
            later = one.later_by_seconds
            cells = (
                stamp(one.started_at),
                one.target,
                one.check,
                _told(one.would_have),
                _told(one.others),
                "-" if later is None else _difference(later),
            )
            table.add_row(*map(Text, cells))
        return table


def _told(deeds: Iterable[Deed]) -> str:
    return ", ".join(f"{one.what} at {stamp(one.at)}" for one in deeds) or "-"


def _difference(seconds: float) -> str:
    length = short(timedelta(seconds=abs(seconds)))
    return f"{length} {'later' if seconds >= 0 else 'earlier'}"
