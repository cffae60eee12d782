"""NoWorkflows: stands in for `ClusterWorkflows` if Temporal is lost; it knows no workflow."""

from cli.incidents.summary import IncidentSummary
from cli.retire.identification import Traces
from health.model.references import IncidentReference
from runtime.strangers import Stranger


class NoWorkflows:
    """The interface of `ClusterWorkflows`, without Temporal: all answers are empty."""

    progress = "Temporal is not asked"
    namespace = ""

    def __init__(self) -> None:
        self.incidents: frozenset[IncidentReference] = frozenset()
        self.adopted: dict[str, IncidentReference] = {}

    async def note_open(self) -> list[IncidentSummary]:
        return []

    async def traces(self) -> dict[str, Traces]:
        return {}

    async def terminated(self) -> frozenset[IncidentReference]:
        return frozenset()

    async def strangers(self) -> list[Stranger]:
        return []

    async def advance(self) -> tuple[str, ...]:
        return ()
