"""`paramedic shadow`: compares the steps of Paramedic in shadow with those of the present controller.

Only the first step of each side in an incident counts: its time, and how much earlier or later it was.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from itertools import accumulate
from statistics import median
from typing import Annotated, Self

import typer
from rich.table import Table
from rich.text import Text

from cli.incidents.document import IncidentDocument
from cli.incidents.history import past_incidents
from cli.incidents.listing import OfCheck, OfCluster
from cli.incidents.visibility import Filter
from cli.shared.ages import short
from cli.shared.connection import command_line, temporal
from cli.shared.errors import carry_out
from cli.shared.known_clusters import unknown_cluster
from cli.shared.options import OutputFormat, look_back, printed_as
from cli.shared.terminal import console, plain, print_json, print_trimmed, table_of
from health.model.incident_result import ShadowRecord
from objects.frozen import Frozen
from objects.timestamps import stamp

HOUR = timedelta(hours=1)


class Acted(StrEnum):
    """Which of the two sides acted, or would have."""

    BOTH = "both"
    ONLY_PARAMEDIC = "only Paramedic"
    ONLY_OTHER = "only the other"
    NEITHER = "neither"


class SideStep(Frozen):
    """One step that a side took, or would have taken."""

    what: str
    at: datetime
    ended_at: datetime | None = None
    """When the request was gone; null while it exists, or if it was never created."""


class Comparison(Frozen):
    """One incident that was in shadow, with the steps of both sides."""

    workflow_id: str
    run_id: str
    cluster: str
    check: str
    target: str
    started_at: datetime
    closed_at: datetime | None
    acted: Acted
    would_have: tuple[SideStep, ...]
    others: tuple[SideStep, ...]
    later_by_seconds: float | None
    """How many seconds later Paramedic would have acted; negative if earlier, null unless both acted."""

    @classmethod
    def of(cls, document: IncidentDocument, record: ShadowRecord) -> Self:
        would_have = tuple(SideStep(what=str(step), at=step.at) for step in record.steps)
        others = tuple(
            SideStep(what=other.request, at=other.started, ended_at=other.ended) for other in record.others
        )
        both = would_have and others
        later_by = (would_have[0].at - min(other.at for other in others)).total_seconds() if both else None
        return cls(
            workflow_id=document.workflow_id,
            run_id=document.run_id,
            cluster=document.cluster,
            check=str(document.check),
            target=str(document.target),
            started_at=document.started_at,
            closed_at=document.closed_at,
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


class Peak(Frozen):
    """The highest load that Paramedic would have caused, as limits do not apply in shadow."""

    cluster: str
    check: str | None
    """Null: all checks of the cluster together, as the limits of the policy count them."""
    in_flight: int
    """Remediations at the same time, from the first step of an incident to its end."""
    starts_per_hour: int


def _most_at_once(spans: Sequence[tuple[datetime, datetime | None]]) -> int:
    """The largest number of spans that overlap; None as an end means that it is still to come."""
    changes = [(start, 1) for start, _ in spans] + [(end, -1) for _, end in spans if end is not None]
    return max(accumulate((change for _, change in sorted(changes)), initial=0))


def peaks(comparisons: Iterable[Comparison]) -> tuple[Peak, ...]:
    """The peaks of each cluster and of each check with at least one step."""
    spans: dict[tuple[str, str | None], list[tuple[datetime, datetime | None]]] = {}
    for comparison in comparisons:
        if comparison.would_have:
            span = comparison.would_have[0].at, comparison.closed_at
            spans.setdefault((comparison.cluster, None), []).append(span)
            spans.setdefault((comparison.cluster, comparison.check), []).append(span)
    return tuple(
        Peak(
            cluster=cluster,
            check=check,
            in_flight=_most_at_once(found),
            starts_per_hour=_most_at_once([(start, start + HOUR) for start, _ in found]),
        )
        for (cluster, check), found in sorted(spans.items(), key=lambda item: (item[0][0], item[0][1] or ""))
    )


class Sums(Frozen):
    """The totals and the time differences over all incidents."""

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
        counted = Counter(comparison.acted for comparison in comparisons)
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
        counts = (self.both, self.only_paramedic, self.only_other, self.neither)
        parts = ", ".join(f"{count} {acted}" for count, acted in zip(counts, Acted, strict=True) if count)
        times = (self.median_later_by_seconds, self.earliest_by_seconds, self.latest_by_seconds)
        middle, earliest, latest = ("" if time is None else _difference(time) for time in times)
        spread = f"; Paramedic {middle} in the middle, from {earliest} to {latest}" if middle else ""
        return f"{self.incidents} in shadow: {parts}{spread}"


class ShadowReport(Frozen):
    """The comparison of all incidents since a time; the fields are the JSON of `paramedic shadow`."""

    since: datetime
    sums: Sums
    peaks: tuple[Peak, ...]
    incidents: tuple[Comparison, ...]
    unknown: int
    """Incidents that may or may not have been in shadow."""

    @classmethod
    def of(cls, documents: Iterable[IncidentDocument], since: datetime) -> Self:
        """Compare the incidents that were in shadow, in the order of their starts."""
        by_start = sorted(documents, key=lambda document: (document.started_at, document.workflow_id))
        found = tuple(Comparison.of(one, one.shadow) for one in by_start if one.shadow is not None)
        unknown = sum(document.problem is not None for document in by_start)
        report = cls(since=since, sums=Sums.of(found), peaks=peaks(found), incidents=(), unknown=unknown)
        return report.model_copy(update={"incidents": found})  # more than the 10,000 items that are read

    @property
    def headline(self) -> str:
        unknown = f"; unknown for {self.unknown}" if self.unknown else ""
        return f"{self.sums}{self._limits}{unknown}"

    @property
    def _limits(self) -> str:
        """The peaks in words, to be compared with limits; "" if no step would have been taken."""
        of_clusters = [peak for peak in self.peaks if peak.check is None]
        if not of_clusters:
            return ""
        under_way = max(cluster.in_flight for cluster in of_clusters)
        starts = max(cluster.starts_per_hour for cluster in of_clusters)
        words = f"at most {under_way} under way at once and {starts} started within an hour in a cluster"
        held = (
            "lower limits would have held some" if max(under_way, starts) > 1 else "none would have held any"
        )
        return f"; limits do not apply in shadow: {words}, so {held}"

    @property
    def table(self) -> Table:
        table = table_of(("STARTED", "TARGET", "CHECK", "WOULD HAVE", "THE OTHER", "PARAMEDIC"))
        for comparison in self.incidents:
            later = comparison.later_by_seconds
            cells = (
                stamp(comparison.started_at),
                comparison.target,
                comparison.check,
                _steps(comparison.would_have),
                _steps(comparison.others),
                "-" if later is None else _difference(later),
            )
            table.add_row(*map(Text, cells))
        return table


def _steps(steps: Iterable[SideStep]) -> str:
    return ", ".join(f"{step.what} at {stamp(step.at)}" for step in steps) or "-"


def _difference(seconds: float) -> str:
    length = short(timedelta(seconds=abs(seconds)))
    return f"{length} {'later' if seconds >= 0 else 'earlier'}"


def shadow(
    context: typer.Context,
    *,
    since: Annotated[
        timedelta, look_back("7d", "How far back to list ended incidents: 7d, 12h.")
    ] = timedelta(days=7),
    check: OfCheck = None,
    cluster: OfCluster = None,
    output: Annotated[OutputFormat, printed_as(OutputFormat.TABLE, OutputFormat.JSON)] = OutputFormat.TABLE,
) -> None:
    """Compare Paramedic in shadow with the present controller."""
    wanted = Filter(check=check, cluster=cluster)
    report, unknown = carry_out(_read(context, wanted, datetime.now(UTC) - since))
    if output is OutputFormat.JSON:
        print_json(report)
    elif report.incidents:
        print_trimmed(report.table, console(is_cut=False))
    of = "" if report.incidents else wanted.words
    sentences = [*([f"{report.headline}{of}"] if output is OutputFormat.TABLE else []), unknown]
    if sentence := "; ".join(filter(None, sentences)):
        typer.echo(plain(sentence), err=True)


async def _read(context: typer.Context, wanted: Filter, since: datetime) -> tuple[ShadowReport, str | None]:
    """The report, and a sentence if the cluster is unknown."""
    async with temporal(context) as client:
        read = past_incidents(client, wanted, since, command_line(context), with_open=True)
        documents = [document async for document in read]
        unknown = None if documents else await unknown_cluster(client, wanted.cluster)
        return ShadowReport.of(documents, since), unknown
