"""`paramedic history` against a real Temporal server, with incidents that are real workflows."""

import json

from health.model.moves import Phase
from tests.support.cluster.command import Command
from tests.support.story.fleet import Fleet
from tests.support.values.observations import expired, healthy, held


async def _end_two(fleet: Fleet) -> None:
    for observation, phase in ((held(), Phase.HELD), (expired(), Phase.REMEDIATING)):
        await fleet.fail("node-1", observation)
        await fleet.reaches("node-1", phase)
        await fleet.see("node-1", healthy())
        await fleet.handle("node-1").result()
    await fleet.listed("Completed", 2)


async def test_history_lists_each_incident_with_its_outcome_and_says_what_is_removed(
    fleet: Fleet, paramedic: Command
) -> None:
    await _end_two(fleet)
    ran = await paramedic("history", "node-1", "--cluster", fleet.cluster)
    assert ran.code == 0
    assert [line.split()[3] for line in ran.out.splitlines()[1:]] == ["Recovered", "Remediated"]
    assert ran.err.startswith("2 incidents: 1 Recovered, 1 Remediated; the namespace ")
    assert "keeps ended incidents for" in ran.err

    listed = (await paramedic("history", "Node/node-1", "--cluster", fleet.cluster, "-o", "json")).json
    first, second = listed["incidents"]
    assert [one["phase"] for one in first["phases"]] == ["Held"]
    assert [one["phase"] for one in second["phases"]] == ["Acting", "Remediating", "CleaningUp"]
    assert sum(one["seconds"] for one in second["phases"]) > 0
    assert second["history"][-1]["phase"] == "Ended"
    assert second["history"][-1]["what"].startswith("Remediated")

    ran = await paramedic("history", "-o", "jsonl", "--cluster", fleet.cluster)
    assert [json.loads(line)["outcome"] for line in ran.out.splitlines()] == ["Recovered", "Remediated"]
    assert ran.err.startswith("2 ended incidents of cluster ")


async def test_history_of_an_unknown_node_is_empty_and_a_missing_name_is_refused(
    idle_fleet: Fleet, paramedic: Command
) -> None:
    ran = await paramedic("history", "node-7", "--since", "12h", "--cluster", idle_fleet.cluster)
    assert (ran.code, ran.out) == (0, "")
    nothing = (
        f"no incidents of target 'node-7' of cluster '{idle_fleet.cluster}'; incidents that ended before "
    )
    assert ran.err.startswith(nothing)
    ran = await paramedic("history", "--cluster", idle_fleet.cluster)
    assert ran.code == 2
    assert "is missing; only -o jsonl lists all nodes and Machines" in ran.err
