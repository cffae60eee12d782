"""The document of an incident: docs/cli-json.md has its fields, and what is unknown is null."""

import json
import re
from dataclasses import replace
from datetime import timedelta

import pytest

from cli.incidents.document import IncidentDocument, IncidentRequest, Retry
from cli.incidents.next_steps import PossibleOrder
from cli.incidents.visibility import IncidentSummary
from devcluster.manifests import ROOT
from health.model.moves import Phase
from health.runbook.state import Memory
from objects.frozen import Frozen
from tests.cli.incidents.summaries import UNHEALTHY, document, ended, state, summary
from tests.support.values.builders import NOW

PAGE = (ROOT / "docs" / "cli-json.md").read_text()
(SECTION,) = re.findall(r"^## An incident\n(.*?)^## ", PAGE, re.MULTILINE | re.DOTALL)


def test_table_of_the_page_has_each_field_once() -> None:
    rows = re.findall(r"^\| (`[^|]+`) \|", SECTION.partition("| command |")[0], re.MULTILINE)
    assert sorted(re.findall(r"`(\w+)`", "".join(rows))) == sorted(IncidentDocument.model_fields)


@pytest.mark.parametrize(
    ("name", "part"), [("requests", IncidentRequest), ("retries", Retry), ("possible_orders", PossibleOrder)]
)
def test_page_has_each_field_of_a_part(name: str, part: type[Frozen]) -> None:
    (words,) = re.findall(rf"^- An entry of `{name}` has (.*?)(?=^- |^\|)", SECTION, re.MULTILINE | re.DOTALL)
    assert set(part.model_fields) <= set(re.findall(r"`(\w+)`", words))


TERMINATED = replace(summary(None), status="Terminated", closed=NOW)


@pytest.mark.parametrize(
    "of", [summary(state(Phase.HELD, UNHEALTHY)), summary(None), ended(), TERMINATED], ids=str
)
def test_each_incident_has_the_same_fields_in_json(of: IncidentSummary) -> None:
    assert set(json.loads(document(of).model_dump_json())) == set(IncidentDocument.model_fields)


def test_what_an_incident_without_an_answer_would_say_is_null_and_not_empty() -> None:
    silent = document(replace(summary(None), problem="no worker answers"))
    assert (silent.phase, silent.standing, silent.orders, silent.requests, silent.history) == (None,) * 5
    assert [order.order for order in silent.possible_orders] == ["hold", "abort"]


def test_nothing_stands_or_can_be_ordered_after_the_end() -> None:
    over = document(ended())
    assert (over.standing, over.requests, over.retries, over.possible_orders) == ((), (), (), ())


def test_terminated_incident_has_its_last_state_and_no_order_is_proposed() -> None:
    last = document(replace(TERMINATED, state=state(Phase.HELD, UNHEALTHY)))
    assert (last.phase, last.outcome, last.words) == (Phase.ENDED, None, "Terminated after 2h")
    assert last.observation is not None
    assert last.possible_orders == ()


def test_incident_lasts_from_its_first_run() -> None:
    memory = Memory(began=NOW - timedelta(days=3))
    long = document(summary(state(Phase.HELD, UNHEALTHY, memory=memory)))
    assert long.started_at == NOW - timedelta(days=3)
    assert long.lasted_seconds == timedelta(days=3).total_seconds()
