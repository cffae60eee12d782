"""PageView: one incident as `paramedic show -o json` prints it."""

from datetime import datetime
from typing import Self

from cli.incident_page import Page
from cli.incident_view import IncidentView
from cli.links import kubectl_lines
from cli.possible_orders import PossibleOrders
from health.model.observation import Observation
from objects.frozen import Frozen


class EpisodeView(Frozen):
    """One thing that happened, `times` times in a row."""

    at: datetime
    what: str
    details: str
    times: int


class PageView(IncidentView):
    """All that is known of one incident."""

    lease_renewed_at: datetime | None = None
    """In the future: when it is renewed next."""
    observation: Observation | None = None
    history: tuple[EpisodeView, ...] = ()
    ui_url: str = ""
    kubectl: tuple[str, ...] = ()
    orders: tuple[str, ...] = ()
    """Command lines of what a person can order now."""

    @classmethod
    def of_page(cls, page: Page) -> Self:
        """The view of a page."""
        state = page.sight.state
        return cls(
            **IncidentView.of(page.sight, page.now).model_dump(),
            lease_renewed_at=state.memory.renew_at if state else None,
            observation=state.observation if state else None,
            history=tuple(
                EpisodeView(at=one.when, what=one.what, details=one.words, times=one.times)
                for one in page.story
            ),
            ui_url=page.ui_link,
            kubectl=tuple(kubectl_lines(page.sight)),
            orders=tuple(PossibleOrders(state, page.name, page.cluster).commands) if state else (),
        )
