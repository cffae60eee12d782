"""The workflow of an order by annotation, on a real Temporal server with a scripted cluster."""

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from temporalio.client import WorkflowFailureError
from temporalio.exceptions import CancelledError
from temporalio.testing import WorkflowEnvironment

from health.runbook.annotated_order import CANCELLED
from tests.support.story.annotating import Annotating, Handle
from tests.support.story.polling import polled
from workflows.annotated_order import GIVEN_FOR, AnnotatedOrder
from workflows.annotated_order_contracts import WAKE_ANNOTATED_ORDER

FIRST_RETRY, A_DAY = timedelta(seconds=6), timedelta(days=1)
HELD = "paramedic.dev/hold: workers/node-4: does nothing new for Node/node-4"


@pytest.fixture
async def annotating(time_skipping: WorkflowEnvironment) -> AsyncIterator[Annotating]:
    one = Annotating(time_skipping)
    async with one.processes():
        yield one


async def test_order_is_given_once_answered_and_removed(annotating: Annotating) -> None:
    await annotating.start()
    assert await annotating.result() == HELD
    (given,) = annotating.given
    assert given.message == {
        "reason": "replacing its disk",
        "identity": "kubectl annotation on Node/node-4 (manager kubectl-annotate)",
        "order_id": "",
        "began_before": None,
        "for_seconds": None,
    }
    assert annotating.events == [HELD]
    assert annotating.value is None


async def test_annotation_that_is_gone_gives_no_order(annotating: Annotating) -> None:
    annotating.value = None
    await annotating.start()
    assert await annotating.result() == ""
    assert not annotating.given
    assert not annotating.events


@pytest.mark.parametrize(
    ("value", "refused", "why"),
    [
        ('{"for_seconds": -1}', "", "refused: for_seconds "),
        ("disk", "Node/node-4 has no open incident", "refused: Node/node-4 has no open incident"),
    ],
)
async def test_refusal_is_answered_and_the_annotation_is_removed(
    annotating: Annotating, value: str, refused: str, why: str
) -> None:
    annotating.value, annotating.refused = value, refused
    await annotating.start()
    assert why in await annotating.result()
    assert not annotating.given
    assert annotating.value is None


async def test_incident_that_does_not_answer_gets_the_same_update_again(annotating: Annotating) -> None:
    annotating.unanswered = 1
    await annotating.start()
    await annotating.rests()
    assert not annotating.events
    await annotating.passes(FIRST_RETRY)
    assert await annotating.result() == HELD
    assert [one.order_id for one in annotating.given] == [annotating.given[0].order_id] * 2
    first, second = annotating.given
    assert first.began_before == second.began_before is not None


async def test_incident_without_an_answer_for_ten_minutes_does_not_get_the_order(
    annotating: Annotating,
) -> None:
    annotating.unanswered = 1_000
    await annotating.start()
    await annotating.rests()
    for _ in range(8):
        await annotating.passes(GIVEN_FOR / 2)
        if annotating.value is None:
            break
    assert "no worker answered for 10 minutes; give the order again" in await annotating.result()
    assert annotating.value is None


async def test_retry_gives_the_order_to_no_incident_that_began_later(annotating: Annotating) -> None:
    annotating.unanswered, annotating.began_later = 1, True
    await annotating.start()
    await annotating.rests()
    await annotating.passes(FIRST_RETRY)
    assert await annotating.result() == HELD
    checks = [[incident.check.name for incident in one.incidents] for one in annotating.given]
    assert checks == [["workers"], ["workers"]]


async def test_annotation_that_cannot_be_removed_is_not_taken_again(annotating: Annotating) -> None:
    annotating.may_remove = False
    await annotating.start()
    await annotating.rests()
    await annotating.passes(A_DAY)
    await annotating.rests()
    assert (len(annotating.given), annotating.events) == (1, [HELD])
    annotating.may_remove = True
    await annotating.handle.signal(WAKE_ANNOTATED_ORDER, args=[{}, 2])  # values do no harm
    await annotating.result()
    assert (len(annotating.given), annotating.events) == (1, [HELD])


async def test_newer_value_is_the_next_order(annotating: Annotating) -> None:
    annotating.next_value = "the disk came"
    await annotating.start()
    await annotating.result()
    assert annotating.reasons == ["replacing its disk", "the disk came"]
    assert annotating.events == [HELD, HELD]


async def test_same_value_after_a_kept_one_is_a_new_order(annotating: Annotating) -> None:
    annotating.may_remove = False
    await annotating.start()
    await annotating.rests()
    for value in ("the disk came", "replacing its disk"):
        annotating.value = value
        await annotating.handle.signal(AnnotatedOrder.wake)
        await annotating.rests()
    annotating.may_remove = True
    await annotating.handle.signal(AnnotatedOrder.wake)
    await annotating.result()
    assert annotating.reasons == ["replacing its disk", "the disk came", "replacing its disk"]


async def ends_cancelled(handle: Handle) -> None:
    with pytest.raises(WorkflowFailureError) as ended:
        await handle.result()
    assert isinstance(ended.value.cause, CancelledError)


async def test_cancel_refuses_the_order_and_removes_the_annotation_that_would_start_it_again(
    annotating: Annotating,
) -> None:
    annotating.unanswered = 1_000
    handle = await annotating.start()
    await annotating.rests()
    await handle.cancel()
    await ends_cancelled(handle)
    assert len(annotating.given) == 1
    assert annotating.events == [
        f"paramedic.dev/hold: refused by workers/node-4: {CANCELLED} before it answered"
    ]
    assert annotating.value is None


async def test_cancel_before_any_incident_got_the_order_refuses_it_for_all(annotating: Annotating) -> None:
    annotating.finds.clear()
    handle = await annotating.start()
    await polled(annotating.is_asked)
    await handle.cancel()
    annotating.finds.set()
    await ends_cancelled(handle)
    assert not annotating.given
    assert annotating.events == [f"paramedic.dev/hold: refused: {CANCELLED}"]


async def test_cancel_of_an_order_that_was_given_ends_it_once_the_annotation_is_gone(
    annotating: Annotating,
) -> None:
    annotating.may_remove = False
    handle = await annotating.start()
    await annotating.rests()
    await handle.cancel()
    await annotating.rests()
    annotating.may_remove = True
    await handle.signal(AnnotatedOrder.wake)
    await ends_cancelled(handle)
    assert (len(annotating.given), annotating.events) == (1, [HELD])


async def test_value_that_is_newer_than_a_cancel_is_the_next_order(annotating: Annotating) -> None:
    annotating.unanswered = 1
    handle = await annotating.start()
    await annotating.rests()
    annotating.value_after_answer = "the disk came"
    await handle.cancel()
    await annotating.result()
    assert annotating.reasons == ["replacing its disk", "the disk came"]
    assert annotating.events[1:] == [HELD]
