"""NoWorkflows: in place of the workflows of a cluster whose Temporal is gone. Nothing is known of any."""

from cli.incident_summary import IncidentSummary
from cli.retire.identification import Traces
from health.model.references import IncidentReference
from runtime.strangers import Stranger


class NoWorkflows:
    """As `Workflows`, where there is nobody to ask."""

    progress = "Temporal is not asked"
    namespace = ""

    def __init__(self) -> None:
        self.incidents: frozenset[IncidentReference] = frozenset()
        self.adopted: dict[str, IncidentReference] = {}

    async def note_open(self) -> list[IncidentSummary]:
        """None that is known of."""
        return []

    async def traces(self) -> dict[str, Traces]:
        """None that is known of."""
        return {}

    async def terminated(self) -> frozenset[IncidentReference]:
        """None that is known of."""
        return frozenset()

    async def strangers(self) -> list[Stranger]:
        """None that is known of."""
        return []

    async def advance(self) -> tuple[str, ...]:
        """Nothing can be ended, or waited for."""
        return ()
