"""`paramedic show` and `paramedic history` of one incident, also of another worker version."""

import json

from rich.console import Console

from cli.incidents.show import incident_page
from cli.incidents.table import fitted_table, headline, incident_rows
from detector.dispatching.incident_calls import IncidentCalls
from health.model.moves import Phase
from health.model.observation import Hold
from health.model.references import CheckReference, IncidentReference, TargetReference
from tests.cli.incidents.summaries import UNHEALTHY, document, state, summary, unhealthy
from tests.support.cluster.command import Command
from tests.support.story.fleet import Fleet
from tests.support.values.observations import expired, healthy, held, waiting
from workflows.messages import State


async def _remediating(fleet: Fleet) -> None:
    await fleet.fail("node-1", expired())
    await fleet.reaches("node-1", Phase.REMEDIATING)
    await fleet.listed("Running", 1)


async def test_show_tells_all_that_is_known(fleet: Fleet, paramedic: Command) -> None:
    await _remediating(fleet)
    shown = (await paramedic("show", "node-1", "--cluster", fleet.cluster, "-o", "json")).json
    assert shown["phase"] == "Remediating"
    assert shown["observation"]["state"] == "Expired"
    assert shown["lease_renewed_at"] is not None
    assert [entry["phase"] for entry in shown["history"]] == ["Acting", "Remediating"]
    assert shown["ui_url"] is None
    assert len(shown["kubectl"]) == 3
    assert [order["order"] for order in shown["possible_orders"]] == ["claim", "hold", "abort"]

    await paramedic("hold", "node-1", "--cluster", fleet.cluster, "--reason", "disk swap", "--for", "1h")
    await fleet.reaches("node-1", Phase.REMEDIATING)  # an order makes it ask again
    ran = await paramedic("show", "node-1", "--cluster", fleet.cluster, TEMPORAL_UI_URL="http://ui:8080/")
    assert ran.code == 0
    for words in (
        "Phase        Remediating, held",
        "; ends in 59m",
        "Lease        is renewed in 4m",
        "step 1 of 1, template t, created 20",
        "Request      Reboot/ns/node-1 exists (example.com/v1)",
        " ago): Expired: Ready is ",
        " by ada@",
        ": hold: disk swap, until ",
        "You can      paramedic claim node-1 --cluster",
        f"http://ui:8080/namespaces/{fleet.client.namespace}/workflows/remediation%2F",
        "kubectl describe node node-1",
        "kubectl get nodehealthchecks workers -o yaml",
        "kubectl get reboot.v1.example.com -n ns node-1 -o yaml",
    ):
        assert words in ran.out, words


async def test_last_incident_is_shown_where_none_is_open(fleet: Fleet, paramedic: Command) -> None:
    for seen in (waiting(), expired()):
        await fleet.fail("node-1", seen)
        await fleet.reaches("node-1", Phase.WAITING if seen == waiting() else Phase.REMEDIATING)
        await fleet.see("node-1", healthy())
        await fleet.handle("node-1").result()
    await fleet.listed("Completed", 2)
    shown = (await paramedic("show", "node-1", "--cluster", fleet.cluster, "-o", "json")).json
    assert (shown["phase"], shown["outcome"]) == ("Ended", "Remediated")
    assert shown["details"] == "Node/node-1 is healthy"
    assert shown["history"][-1]["what"].startswith("Remediated; ")


async def test_incident_is_found_by_node_check_and_workflow_id(fleet: Fleet, paramedic: Command) -> None:
    await fleet.fail("node-1", held())
    await fleet.fail("node-1", held(), check="storage")
    await fleet.reaches("node-1", Phase.HELD, check="storage")
    await fleet.listed("Running", 2)
    storage = fleet.incident("node-1", "storage")
    for name in ("storage/node-1", "NodeHealthCheck/storage/node-1", storage.workflow_id):
        shown = await paramedic("show", name, "--cluster", fleet.cluster, "-o", "json")
        assert shown.json["workflow_id"] == storage.workflow_id

    ran = await paramedic("show", "node-1", "--cluster", fleet.cluster)
    assert ran.code == 3
    assert ran.err == "paramedic: 'node-1' is ambiguous, say which: storage/node-1, workers/node-1\n"
    ran = await paramedic("show", "node-2", "--cluster", fleet.cluster)
    assert (ran.code, ran.err) == (3, "paramedic: no incident of 'node-2'\n")


async def test_machine_is_found_by_its_name_with_or_without_kind_and_namespace(
    fleet: Fleet, paramedic: Command
) -> None:
    incident = IncidentReference(
        cluster=fleet.cluster,
        check=CheckReference(kind="MachineHealthCheck", namespace="machines", name="workers"),
        target=TargetReference(kind="Machine", namespace="machines", name="worker-1", uid="11111111-2222"),
    )
    fleet.observations["worker-1"] = held()
    await IncidentCalls(lambda: fleet.client, fleet.cluster).start(incident, held())
    await fleet.listed("Running", 1)
    for name in ("worker-1", "machines/worker-1", "workers/worker-1", "Machine/machines/worker-1"):
        shown = await paramedic("show", name, "--cluster", fleet.cluster, "-o", "json")
        assert shown.json["workflow_id"] == incident.workflow_id


async def test_order_by_signal_is_kept_where_no_worker_answers(idle_fleet: Fleet, paramedic: Command) -> None:
    await idle_fleet.fail("node-1", held())
    await idle_fleet.listed("Running", 1)
    ran = await paramedic("abort", "node-1", "--cluster", idle_fleet.cluster, "--reason", "power work")
    assert ran.code == 0
    assert "the incident gets it as soon as a worker runs" in ran.out
    ran = await paramedic("show", "node-1", "--cluster", idle_fleet.cluster)
    assert ran.code == 0
    assert "unknown: no worker answers" in ran.out
    async with idle_fleet.at_work():
        await idle_fleet.reaches("node-1", Phase.LEFT_ALONE)
        assert "power work" in (await idle_fleet.state("node-1")).details


async def test_terminated_incident_shows_what_its_last_state_has(fleet: Fleet, paramedic: Command) -> None:
    await _remediating(fleet)
    await fleet.handle("node-1").terminate("by hand")
    await fleet.listed("Terminated", 1)
    shown = (await paramedic("show", "node-1", "--cluster", fleet.cluster, "-o", "json")).json
    assert (shown["status"], shown["outcome"], shown["problem"]) == ("Terminated", None, None)
    assert [entry["phase"] for entry in shown["history"]] == ["Acting", "Remediating"]


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


QUARANTINE = Hold(reason="Quarantine", message="rack 7 is quarantined")
WIRE = (
    state(Phase.HELD, UNHEALTHY, unhealthy(hold=QUARANTINE))
    .model_dump_json()
    .replace('"phase":"Held"', '"phase":"Parked"')
)


def test_phase_and_reason_that_are_not_known_are_shown_as_text() -> None:
    seen_here = document(summary(State.model_validate_json(WIRE)))
    assert headline([seen_here]) == "1 incident: 1 Parked"
    console = Console(width=1000, highlight=False)
    with console.capture() as captured:
        console.print(fitted_table(incident_rows([seen_here], is_wide=False), 1000))
        console.print(incident_page(seen_here))
    assert captured.get().count("Parked") == 2
    assert "held: Quarantine: rack 7 is quarantined" in captured.get()
    assert '"phase":"Parked"' in seen_here.model_dump_json()
