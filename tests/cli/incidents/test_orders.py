"""`paramedic abort`, `hold`, `skip` and `resume`."""

import re
from datetime import datetime, timedelta

import pytest

from cli.incidents.names import LISTED
from cli.incidents.orders import GivenOrder, send
from cli.incidents.visibility import Filter, open_incidents
from cli.shared.errors import NotFoundError
from health.model.moves import Phase
from health.runbook.orders import AbortOrder
from tests.support.cluster.command import Command
from tests.support.story.fleet import Fleet
from tests.support.values.observations import FIRST, SECOND, escalating, expired, held

BAD_TIMES = ["1x", "", "-5m", "0s", "9000h", "99999999999h"]


async def test_abort_and_resume(fleet: Fleet, paramedic: Command) -> None:
    await fleet.fail("node-1", expired())
    await fleet.reaches("node-1", Phase.REMEDIATING)
    await fleet.listed("Running", 1)
    ran = await paramedic(
        "abort", "node-1", "--cluster", fleet.cluster, "--reason", "power work", "--for", "1h"
    )
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(
        f"{fleet.cluster}: workers/node-1: cleans up and leaves Node/node-1 alone: power work; until 20"
    )
    assert ran.out.endswith("Z (in 1h)\n")
    await fleet.reaches("node-1", Phase.LEFT_ALONE)
    assert not fleet.requests
    listed = (await paramedic("list", "--cluster", fleet.cluster, "-o", "json")).json["incidents"]
    (standing,) = listed[0]["standing"]
    assert (standing["order"], standing["reason"]) == ("abort", "power work")
    until, given = (datetime.fromisoformat(standing[field]) for field in ("until", "given"))
    assert until - given == timedelta(hours=1)

    ran = await paramedic("resume", "node-1", "--cluster", fleet.cluster)
    ended = r"takes care of Node/node-1 again; ended the abort by ada@\S+: power work \(of 20\S+Z\)\n"
    assert re.fullmatch(rf"{fleet.cluster}: workers/node-1: {ended}", ran.out)
    await fleet.reaches("node-1", Phase.REMEDIATING)


async def test_hold_keeps_the_request_and_shows(fleet: Fleet, paramedic: Command) -> None:
    await fleet.fail("node-1", expired())
    await fleet.reaches("node-1", Phase.REMEDIATING)
    await fleet.listed("Running", 1)
    ran = await paramedic("hold", "workers/node-1", "--cluster", fleet.cluster)
    assert ran.out == (
        f"{fleet.cluster}: workers/node-1: does nothing new for Node/node-1 and keeps what exists; "
        "until resume or its recovery\n"
    )
    (one,) = (await paramedic("list", "--cluster", fleet.cluster, "-o", "json")).json["incidents"]
    assert one["phase"] == "Remediating"
    (standing,) = one["standing"]
    assert (standing["order"], standing["reason"], standing["until"]) == ("hold", "", None)
    assert standing["identity"].startswith("ada@")
    assert len(one["requests"]) == 1


async def test_claim_is_listed_and_the_next_one_says_whose_it_was(fleet: Fleet, paramedic: Command) -> None:
    await fleet.fail("node-1", held())
    await fleet.reaches("node-1", Phase.HELD)
    await fleet.listed("Running", 1)
    here = ("node-1", "--cluster", fleet.cluster)
    ran = await paramedic("unclaim", *here)
    assert ran.err.endswith("it is not claimed\n")
    await paramedic("claim", *here, "--reason", "INC-7")
    header, row = (await paramedic("list", "--cluster", fleet.cluster)).out.splitlines()
    assert row[header.index("CLAIM") :].split()[0] == "ada"
    ran = await paramedic("claim", *here)
    assert "shows your claim on Node/node-1 until unclaim, and goes on; ended the claim by ada@" in ran.out
    assert ": INC-7 (of 20" in ran.out
    assert "; ended the claim by ada@" in (await paramedic("unclaim", *here)).out
    shown = (await paramedic("show", *here, "-o", "json")).json
    given = [(one["what"], one["who"].split("@")[0]) for one in shown["history"] if one["who"]]
    assert given == [("claim: INC-7", "ada"), ("claim", "ada"), ("unclaim", "ada")]
    assert not shown["standing"]


async def test_order_to_several_incidents_is_carried_out_where_it_can_be(
    fleet: Fleet, paramedic: Command
) -> None:
    await fleet.fail("node-1", held())
    await fleet.fail("node-2", held())
    await fleet.listed("Running", 2)
    ran = await paramedic("hold", "node-1", "node-2", "node-2", "--cluster", fleet.cluster)
    assert (ran.code, ran.err, len(ran.out.splitlines())) == (0, "", 2)

    ran = await paramedic("resume", "node-1", "nobody", "node-2", "--cluster", fleet.cluster)
    assert ran.code == 1
    assert ran.err == f"paramedic: no open incident of 'nobody'; {LISTED}\nresume: 2 of 3 done\n"
    assert not (await fleet.state("node-2")).memory.held


async def test_order_to_an_incident_that_has_ended_reaches_no_later_one_of_the_same_target(
    fleet: Fleet,
) -> None:
    await fleet.fail("node-1", held())
    await fleet.listed("Running", 1)
    (summary,) = await open_incidents(fleet.client, Filter(cluster=fleet.cluster))
    await fleet.handle("node-1").terminate()
    await fleet.fail("node-1", held())
    await fleet.reaches("node-1", Phase.HELD)
    with pytest.raises(NotFoundError, match="has ended meanwhile, and a later one does not get the order"):
        await send(fleet.client, summary, GivenOrder(AbortOrder(), fleet.cluster))
    assert not (await fleet.state("node-1")).memory.orders


async def test_order_to_an_unknown_incident_is_not_found(fleet: Fleet, paramedic: Command) -> None:
    await fleet.fail("node-1", held())
    await fleet.listed("Running", 1)
    await fleet.handle("node-1").terminate()
    await fleet.listed("Running", 0)
    ran = await paramedic("abort", "node-1", "--cluster", fleet.cluster)
    assert (ran.code, ran.out) == (3, "")
    assert ran.err == (
        "paramedic: no open incident of 'node-1'; to keep out a healthy Node, annotate it "
        "with paramedic.dev/hold, or use the label "
        "remediation.medik8s.io/exclude-from-remediation=true, more in docs/cli-orders.md#before-it-fails\n"
    )


@pytest.mark.parametrize("time", BAD_TIMES)
async def test_time_that_cannot_be_used_is_named_with_its_option(paramedic: Command, time: str) -> None:
    ran = await paramedic("abort", "node-1", f"--for={time}")
    assert ran.code == 2
    assert "--for" in ran.err
    assert f"'{time}'" in ran.err


async def test_step_of_a_template_that_the_check_does_not_have_is_refused_with_those_it_has(
    fleet: Fleet, paramedic: Command
) -> None:
    await fleet.fail("node-1", held().model_copy(update={"steps": (FIRST, SECOND)}))
    await fleet.reaches("node-1", Phase.HELD)
    await fleet.listed("Running", 1)
    ran = await paramedic("resume", "node-1", "--step", "x", "--cluster", fleet.cluster)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == (
        f"paramedic: {fleet.incident('node-1').workflow_id} refuses resume: "
        "--step: 'x' is the template of no step; the templates are "
        "RebootTemplate/first, RebootTemplate/second\n"
    )


async def test_skip_names_the_step_that_runs_and_is_refused_where_there_is_no_escalation(
    fleet: Fleet, paramedic: Command
) -> None:
    await fleet.fail("node-1", escalating())
    await fleet.reaches("node-1", Phase.REMEDIATING)
    await fleet.fail("node-2", expired())
    await fleet.reaches("node-2", Phase.REMEDIATING)
    await fleet.listed("Running", 2)
    ran = await paramedic("skip", "node-1", "--cluster", fleet.cluster)
    assert (ran.code, ran.out) == (1, "")
    assert re.search(
        r"RebootTemplate/first began only \d+s ago; name it with --step$",
        ran.err.strip(),
    )
    ran = await paramedic(
        "skip", "node-1", "--step", "first", "--reason", "it cannot boot", "--cluster", fleet.cluster
    )
    assert ran.out == (
        f"{fleet.cluster}: workers/node-1: ends the step first of Node/node-1 "
        "with the next answer of the detector, "
        "and takes the next one when it is admitted: it cannot boot\n"
    )
    ran = await paramedic("skip", "node-2", "--cluster", fleet.cluster)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.endswith("the check has no escalation, so no step follows\n")


async def test_skip_of_another_step_is_refused_with_its_option(fleet: Fleet, paramedic: Command) -> None:
    await fleet.fail("node-1", escalating())
    await fleet.reaches("node-1", Phase.REMEDIATING)
    await fleet.listed("Running", 1)
    ran = await paramedic("skip", "node-1", "--step", "second", "--cluster", fleet.cluster)
    assert ran.code == 1
    assert ran.err.endswith(
        "refuses skip: --step: the step 'second' does not run; RebootTemplate/first runs\n"
    )


async def test_skip_without_a_worker_needs_the_name_of_the_step_and_is_kept_by_temporal(
    idle_fleet: Fleet, paramedic: Command
) -> None:
    await idle_fleet.fail("node-1", escalating())
    await idle_fleet.listed("Running", 1)
    skip = ("skip", "node-1", "--cluster", idle_fleet.cluster)
    ran = await paramedic(*skip)
    assert ran.code == 1
    assert ran.err.endswith("its running step is unknown now; name the step with --step\n")
    ran = await paramedic(*skip, "--step", "first")
    assert ran.code == 0
    assert "Temporal keeps the order; the incident gets it as soon as a worker runs" in ran.out
    async with idle_fleet.at_work():
        await idle_fleet.reaches("node-1", Phase.REMEDIATING)
        ran = await paramedic("show", "node-1", "--cluster", idle_fleet.cluster)
    (order,) = (line for line in ran.out.splitlines() if line.startswith("Order"))
    assert "skip first by ada@" in order
    assert order.endswith("; refused, no step was taken yet; RebootTemplate/first is next")
