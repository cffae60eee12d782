"""Which incidents a list shows: incidents with unknown state are never left out."""

import dataclasses

from cli.incidents.table import Wanted
from cli.incidents.visibility import Filter
from health.model.details import Details
from health.model.moves import Phase
from tests.cli.incidents.summaries import document, state, summary

WAITING = document(summary(state(Phase.WAITING, Details()), "node-1"))
UNKNOWN = document(dataclasses.replace(summary(None, "node-2"), problem="no worker answers"))


def test_incident_that_cannot_be_queried_is_shown_under_any_filter() -> None:
    of_a_phase = Wanted(Filter(), frozenset({Phase.HELD}), closed=0)
    in_shadow = Wanted(Filter(), frozenset(), closed=0, is_shadow=True)
    for wanted in (of_a_phase, in_shadow):
        assert [one for one in (WAITING, UNKNOWN) if wanted.shows(one)] == [UNKNOWN]
