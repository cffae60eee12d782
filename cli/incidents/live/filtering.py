"""The filter of the live view: an incident is shown if it contains each word of the filter."""

from collections.abc import Iterable

from textual.widgets import Input

from cli.incidents.summary import IncidentSummary


class FilterField(Input):
    """The words of the filter. A hidden field takes no keys, so that no incident is hidden by accident."""

    def __init__(self) -> None:
        super().__init__(placeholder="words that incidents must contain", disabled=True)
        self.display = False

    def begin(self) -> None:
        self.display, self.disabled = True, False
        self.focus()

    def end(self) -> None:
        self.value, self.display, self.disabled = "", False, True


def matching(summaries: Iterable[IncidentSummary], text: str) -> list[IncidentSummary]:
    """The incidents with each word of `text` in their name, cluster, phase or details, in any case."""
    words = text.casefold().split()
    return [one for one in summaries if all(word in _searched(one) for word in words)]


def _searched(summary: IncidentSummary) -> str:
    incident = summary.incident
    parts = (incident.cluster, incident.check, incident.target, summary.phase or "unknown", summary.details)
    return " ".join(map(str, parts)).casefold()
