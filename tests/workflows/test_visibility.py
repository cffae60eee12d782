from temporalio.api.enums.v1 import EventType

from health.model.approval import RequiredApproval
from health.model.moves import Blocked, Outcome, Phase
from health.runbook.orders import ApproveOrder, HoldOrder
from objects.timestamps import stamp
from tests.support.story.incident import IncidentDriver
from tests.support.story.phases import act, wait
from tests.support.story.settling import rests, settle
from tests.support.values.observations import expired, healthy, held, waiting
from workflows.messages import BLOCKED


async def shows(incident: IncidentDriver, phase: Phase, words: str) -> None:
    state = await incident.reaches(phase)
    assert words in state.details
    assert state.outcome is None
    details = await incident.details()
    assert words in details
    assert phase in details


async def test_state_details_and_summaries_say_where_the_incident_is_from_its_start_to_its_end(
    incident: IncidentDriver,
) -> None:
    await incident.start(waiting())
    await shows(incident, Phase.WAITING, "Ready is False")
    description = await incident.handle.describe()
    assert await description.static_summary() == "node-1: NodeHealthCheck/workers"
    assert "Ready is False" in (await description.static_details() or "")

    await incident.sees(held())
    await shows(incident, Phase.HELD, "Threshold: not now")
    began = (await incident.state()).why.held_since
    assert began is not None
    words = f"- **Why not yet:** Threshold: not now\n- **Held since:** {stamp(began)}\n- **Next:** at "
    assert words in await incident.details()
    await incident.sees(expired())
    await shows(incident, Phase.REMEDIATING, "Reboot/ns/node-1 exists")
    incident.cluster.has_finalizer = True
    await incident.sees(healthy())
    await incident.happens("clean_up")
    await incident.tells("hangs on a finalizer")
    await shows(incident, Phase.CLEANING_UP, "Reboot/ns/node-1 hangs on a finalizer")

    incident.cluster.remove_finalizer()
    await incident.wake()
    assert await incident.outcome() is Outcome.REMEDIATED
    state = await incident.state()
    assert (state.phase, state.outcome) == (Phase.ENDED, Outcome.REMEDIATED)
    summaries = await incident.summaries()
    assert [summary.partition("; until")[0] for summary in summaries] == [
        "Waiting: Ready is False",
        "is it still unhealthy?",
        f"Held since {began:%H:%MZ}: Threshold: not now",
        "may it act now? Threshold: not now",
        "create Reboot from ns/t",
        "Remediating: Reboot/ns/node-1 exists",
        "is it healthy now?",
        "delete Reboot/ns/node-1",
        "CleaningUp: Reboot/ns/node-1 hangs on a finalizer",
        "are its requests gone? Reboot/ns/node-1 hangs on a finalizer",
        "delete Reboot/ns/node-1",
    ]


async def test_search_attribute_says_what_blocks_an_incident_and_costs_an_event_for_each_change(
    incident: IncidentDriver,
) -> None:
    async def blocked_in(phase: Phase) -> str | None:
        await rests(incident, phase)
        return (await incident.handle.describe()).typed_search_attributes.get(BLOCKED)

    await incident.start(waiting())
    assert await blocked_in(Phase.WAITING) is None
    await incident.sees(held())
    assert await blocked_in(Phase.HELD) == Blocked.HELD
    await incident.sees(expired().model_copy(update={"approval": RequiredApproval(steps=(0,))}))
    await incident.tells("ApprovalRequired")
    assert await blocked_in(Phase.HELD) == Blocked.APPROVAL_REQUIRED
    await incident.wake()
    await incident.happens("answered", 4)
    assert await blocked_in(Phase.HELD) == Blocked.APPROVAL_REQUIRED
    await incident.approve(ApproveOrder(step="t"))
    assert await blocked_in(Phase.REMEDIATING) is None
    await incident.abort()
    assert await blocked_in(Phase.LEFT_ALONE) == Blocked.LEFT_ALONE
    await incident.sees(healthy())
    await incident.outcome()
    kinds = [event.event_type for event in await incident.events()]
    of_back_off = 1
    assert kinds.count(EventType.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES) == 4 + of_back_off


async def test_details_name_the_detector_that_does_not_answer(
    bare_incident: IncidentDriver,
) -> None:
    async with bare_incident.worker():
        await wait(bare_incident)
        await bare_incident.wake()
        assert f"paramedic-{bare_incident.name}-detector" in await bare_incident.details()


async def test_words_that_are_too_long_for_temporal_are_cut_visibly_behind_the_reason_of_a_hold(
    incident: IncidentDriver,
) -> None:
    await act(incident)
    await incident.hold(HoldOrder(reason="🔥" * 1000))
    await settle(incident)
    timer = (await incident.summaries())[-1]
    assert timer.startswith("Remediating: held by a person: 🔥")
    assert timer.endswith("🔥…")
