"""`paramedic list` against incidents in every phase."""

from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cli.incidents.document import IncidentDocument
from devcluster.temporal import TemporalServer
from health.model.moves import Phase
from tests.support.cluster.command import Command
from tests.support.story.fleet import Fleet, fleet_of
from tests.support.values.builders import request_snapshot
from tests.support.values.observations import expired, healthy, held, waiting


def targets(listed: Any) -> Sequence[str]:
    return sorted(incident["target"] for incident in listed["incidents"])


@pytest.fixture(scope="module")
async def standing(temporal_server: TemporalServer) -> AsyncIterator[Fleet]:
    """Four incidents that no test changes; one node has two."""
    async with fleet_of(temporal_server) as fleet, fleet.at_work():
        await three(fleet)
        await fleet.fail("node-1", held(), check="storage")
        await fleet.reaches("node-1", Phase.HELD, check="storage")
        await fleet.listed("Running", 4)
        yield fleet


async def three(fleet: Fleet) -> None:
    await fleet.fail("node-1", waiting())
    await fleet.fail("node-2", held())
    await fleet.fail("node-10", expired())
    await fleet.reaches("node-1", Phase.WAITING)
    await fleet.reaches("node-2", Phase.HELD)
    await fleet.reaches("node-10", Phase.REMEDIATING)
    await fleet.listed("Running", 3)


async def test_list_says_where_each_incident_stands(standing: Fleet, paramedic: Command) -> None:
    ran = await paramedic("list", "--cluster", standing.cluster)
    assert ran.code == 0
    header, *lines = ran.out.splitlines()
    named = ["TARGET", "CHECK", "PHASE", "HELD", "NEXT", "DETAILS"]
    assert [name for name in header.split() if name != "AGE"] == named
    assert [line.split()[:3] for line in lines] == [
        ["node-1", "storage", "Held"],
        ["node-1", "workers", "Waiting"],
        ["node-2", "workers", "Held"],
        ["node-10", "workers", "Remediating"],
    ]
    assert "Threshold: not now; Ready is False" in lines[2]
    assert all(line == line.rstrip() for line in ran.out.splitlines())
    assert "Reboot/ns/node-10 exists" in lines[3]
    assert ran.err == "4 incidents: 1 Waiting, 2 Held, 1 Remediating\n"


def next_of(table: str) -> dict[str, str]:
    header, *lines = table.splitlines()
    return {line.split()[0]: line[header.index("NEXT") :].split()[0] for line in lines}


async def test_next_is_when_it_goes_on_and_not_when_it_wakes_for_a_task(
    fleet: Fleet, paramedic: Command
) -> None:
    await three(fleet)
    await fleet.fail("node-20", waiting(timedelta(days=20)))
    await fleet.reaches("node-20", Phase.WAITING)
    await fleet.listed("Running", 4)
    found = next_of((await paramedic("list", "--cluster", fleet.cluster)).out)
    assert found["node-1"].startswith("4m5")
    assert found["node-2"][:2] in ("27", "28", "29")  # asks again, a little early so that not all do at once
    assert found["node-10"].startswith("29m5")  # not its Lease, which is renewed in ten
    assert found["node-20"] == "19d23h"  # not its timer, which is cut into weeks


async def test_json_has_the_documented_fields(standing: Fleet, paramedic: Command) -> None:
    listed = (await paramedic("list", "--cluster", standing.cluster, "-o", "json")).json
    assert set(listed) == {"incidents", "has_more"}
    assert all(set(incident) == {*IncidentDocument.model_fields} for incident in listed["incidents"])
    (one,) = (incident for incident in listed["incidents"] if incident["phase"] == "Waiting")
    assert (one["target"], one["status"], one["check"]) == (
        "Node/node-1",
        "Running",
        "NodeHealthCheck/workers",
    )
    goes_on, now = (datetime.fromisoformat(one[field]) for field in ("goes_on_at", "at"))
    assert 200 < (goes_on - now).total_seconds() <= 300
    assert one["workflow_id"] == standing.incident("node-1").workflow_id


async def test_filters(standing: Fleet, paramedic: Command) -> None:
    async def found(*options: str) -> Sequence[str]:
        return targets((await paramedic("list", "--cluster", standing.cluster, *options, "-o", "json")).json)

    assert await found("--check", "storage") == ["Node/node-1"]
    assert await found("--check", "NodeHealthCheck/storage") == ["Node/node-1"]
    assert await found("--target", "node-1") == ["Node/node-1", "Node/node-1"]
    assert await found("--target", "Node/node-2", "--check", "workers") == ["Node/node-2"]
    assert await found("--check", "nodehealthcheck/storage") == ["Node/node-1"]
    assert await found("--phase", "remediating") == ["Node/node-10"]
    assert await found("--phase", "remediating", "--phase", "waiting") == ["Node/node-1", "Node/node-10"]
    assert await found("--target", "it's \\ not a name") == []


async def test_cluster_can_be_named_without_the_end_of_its_identity(
    standing: Fleet, paramedic: Command
) -> None:
    name = standing.cluster.removesuffix("-1a2b")
    assert len((await paramedic("list", "--cluster", name, "-o", "json")).json["incidents"]) == 4
    assert (await paramedic("list", "--cluster", name[:-1], "-o", "json")).json["incidents"] == []


async def test_all_shows_how_closed_incidents_ended(fleet: Fleet, paramedic: Command) -> None:
    await three(fleet)
    await fleet.see("node-10", healthy())
    await fleet.handle("node-10").result()
    await fleet.handle("node-2").terminate()
    await fleet.listed("Completed", 1)
    await fleet.listed("Terminated", 1)
    await fleet.listed("Running", 1)

    assert targets((await paramedic("list", "--cluster", fleet.cluster, "-o", "json")).json) == [
        "Node/node-1"
    ]
    listed = (await paramedic("list", "--all", "--cluster", fleet.cluster, "-o", "json")).json
    ends = {
        incident["target"]: (incident["phase"], incident["status"], incident["outcome"])
        for incident in listed["incidents"]
    }
    assert ends["Node/node-10"] == ("Ended", "Completed", "Remediated")
    assert "Node/node-1 is healthy" in {incident["details"] for incident in listed["incidents"]}
    assert ends["Node/node-2"] == ("Ended", "Terminated", None)
    assert ends["Node/node-1"] == ("Waiting", "Running", None)
    assert not listed["has_more"]

    one = (await paramedic("list", "--all", "--limit", "1", "--cluster", fleet.cluster)).err
    assert "older ones are left out" in one
    table = (await paramedic("list", "--phase", "ended", "--cluster", fleet.cluster)).out
    assert "Remediated after" in table
    assert not any(line.startswith("node-1 ") for line in table.splitlines())


async def test_nothing_to_list_is_no_failure(fleet: Fleet, paramedic: Command) -> None:
    await three(fleet)
    ran = await paramedic("list", "--cluster", fleet.cluster, "--check", "typo")
    of = f"no incidents of check 'typo' of cluster {fleet.cluster!r}\n"
    assert (ran.code, ran.out, ran.err) == (0, "", of)
    in_json = await paramedic("list", "--cluster", fleet.cluster, "--check", "typo", "-o", "json")
    assert (in_json.json, in_json.err) == ({"incidents": [], "has_more": False}, of)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("list",), 0),
        (("list", "-o", "json"), 0),
        (("upgrade",), 0),
        (("upgrade", "-o", "json"), 0),
        (("shadow",), 0),
        (("shadow", "-o", "json"), 0),
        (("show", "node-1"), 3),
        (("abort", "node-1"), 3),
        (("hold", "node-1"), 3),
        (("resume", "node-1"), 3),
    ],
    ids=lambda one: " ".join(one) if isinstance(one, tuple) else "",
)
async def test_cluster_that_temporal_does_not_know_is_reported_with_those_that_it_knows(
    fleet: Fleet, paramedic: Command, arguments: tuple[str, ...], code: int
) -> None:
    await fleet.fail("node-1", held())
    await fleet.listed("Running", 1)

    typo = fleet.cluster.replace("-", "x-")
    ran = await paramedic(*arguments, "--cluster", typo)

    assert ran.code == code
    (line,) = ran.err.splitlines()
    assert f"has no workflow of a cluster called {typo!r}; it has workflows of {fleet.cluster}" in line
    assert "exclude-from-remediation" not in line


async def test_phase_is_unknown_where_no_worker_answers_and_no_filter_hides_that(
    idle_fleet: Fleet, paramedic: Command
) -> None:
    for number in range(25):  # more than are asked at once
        await idle_fleet.fail(f"node-{number}", held())
    await idle_fleet.listed("Running", 25)
    ran = await paramedic("list", "--phase", "held", "--cluster", idle_fleet.cluster, "-o", "json")
    assert len(ran.json["incidents"]) == 25
    assert {(incident["phase"], incident["problem"]) for incident in ran.json["incidents"]} == {
        (None, "no worker answers")
    }
    table = await paramedic("list", "--target", "node-1", "--cluster", idle_fleet.cluster)
    assert "unknown: no worker answers" in table.out


async def test_table_fits_the_terminal_and_cuts_no_number(fleet: Fleet, paramedic: Command) -> None:
    node = "ip-10-0-12-23.eu-central-1.compute.internal"
    await fleet.fail(node, expired())
    await fleet.reaches(node, Phase.REMEDIATING)
    await fleet.listed("Running", 1)
    for columns in (80, 160):
        drawn = await paramedic.in_terminal("list", "--cluster", fleet.cluster, columns=columns)
        header, line = drawn.splitlines()
        assert max(len(header), len(line)) <= columns
        assert "Remediating" in line
        assert " 29m5" in line
        assert (node in line) is (columns == 160)


async def test_wide_cuts_nothing(standing: Fleet, paramedic: Command) -> None:
    drawn = await paramedic.in_terminal("list", "-o", "wide", "--cluster", standing.cluster, columns=80)
    assert standing.incident("node-10").workflow_id in drawn
    assert "Reboot/ns/node-10" in drawn
    assert standing.cluster in drawn
    assert "…" not in drawn


@pytest.mark.rule("rule 43")
async def test_incidents_in_shadow_are_listed_and_compared_with_what_the_other_controller_did(
    fleet: Fleet, paramedic: Command
) -> None:
    shadow = {"is_shadow": True}
    theirs = request_snapshot("theirs", created=datetime.now(UTC) - timedelta(minutes=2))
    await three(fleet)
    for node, request in (("node-3", None), ("node-4", theirs)):
        fleet.requests |= {} if request is None else {node: request}
        await fleet.fail(node, expired().model_copy(update=shadow))
        await fleet.reaches(node, Phase.REMEDIATING)
    del fleet.requests["node-4"]
    await fleet.see("node-4", healthy().model_copy(update=shadow))
    await fleet.listed("Running", 4)
    await fleet.listed("Completed", 1)

    here = ("--cluster", fleet.cluster)
    listed = (await paramedic("list", "--shadow", "--all", "-o", "json", *here)).json
    assert {incident["target"]: incident["outcome"] for incident in listed["incidents"]} == {
        "Node/node-3": None,
        "Node/node-4": "WouldHaveRemediated",
    }
    report = await paramedic("shadow", "--since", "1h", *here)
    assert report.err.startswith("2 in shadow: 1 both, 1 only Paramedic; Paramedic 2m")
    assert "later in the middle" in report.err
    assert "Reboot from " in report.out
    view = (await paramedic("shadow", "-o", "json", *here)).json
    assert (view["sums"]["both"], view["unknown"]) == (1, 0)
    both = next(incident for incident in view["incidents"] if incident["acted"] == "both")
    assert both["others"][0]["ended_at"] is not None
    refused = await paramedic("shadow", "--since", "7w")
    assert (refused.code, "'7w' is no time such as 7d" in refused.err) == (2, True)
