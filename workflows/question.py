"""The question to the detector: the only call that an incident may abandon, since it changes nothing."""

from datetime import datetime, timedelta
from random import Random

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from health.model.moves import Deadline, NextEvent, Phase, Wait
    from health.model.observation import Observation, TargetState
    from health.model.order import OrderMessage
    from health.model.references import IncidentReference
    from health.runbook.state import Memory
    from objects.backoff import EQUAL_JITTER, Backoff
    from workflows.contracts import OBSERVE, ObserveInput, detector_queue
    from workflows.kit import StandingOrders, in_summary
    from workflows.status import IncidentStatus, question_summary

SHORTEST_WAIT = timedelta(seconds=5)
SPREAD_FROM, SPREAD = timedelta(minutes=10), (0.9, 1.0)
"""Holds at least this long are asked about again after a random share of their time."""
LATE_ANSWERS = Backoff(timedelta(seconds=20), timedelta(seconds=60), jitter=EQUAL_JITTER)
NOT_ASKED = Observation(state=TargetState.UNKNOWN, reason="no answer of the detector yet")


async def answer(
    incident: IncidentReference, memory: Memory, orders: StandingOrders[OrderMessage], status: IncidentStatus
) -> Observation | None:
    """The detector's answer; None if an order of a person arrived first.

    Raises:
        ActivityError: no detector answered before the Lease is due for renewal.

    """
    queue = detector_queue(incident.cluster)
    workflow.set_current_details(f"{status}\n\nAsks the detector, queue {queue}.")
    question = ObserveInput(
        incident=incident,
        found=memory.found,
        orders=memory.unreported_orders,
        progress=memory.progress,
        counted=memory.counted,
        **memory.intent(workflow.now()).model_dump(),
    )
    asking = workflow.start_activity(
        OBSERVE.name,
        question,
        result_type=Observation,
        task_queue=queue,
        # A limit of all attempts: a limit per attempt would restart whenever a detector takes and fails one.
        schedule_to_close_timeout=until_renewal(memory),
        start_to_close_timeout=OBSERVE.start_to_close,
        retry_policy=OBSERVE.retry,
        summary=in_summary(question_summary(question, status.phase, status.why)),
    )
    # Retrieve the exception of an abandoned question, which asyncio would log otherwise.
    asking.add_done_callback(lambda asked: None if asked.cancelled() else asked.exception())
    try:
        await workflow.wait_condition(lambda: asking.done() or orders.has_new)
        return asking.result() if asking.done() else None
    finally:
        asking.cancel()


def is_answer(observation: Observation) -> bool:
    """False for an observation that stands in for an answer which has not come yet."""
    return observation.state is not TargetState.UNKNOWN or observation.hold is not None


def spread(waiting: Wait, memory: Memory, now: datetime, random: Random) -> Wait:
    """The same; a long hold is asked about slightly early, so that thousands do not ask at once."""
    timeout = waiting.requeue_after(now)
    is_held = waiting.phase is Phase.HELD and not memory.held
    if not is_held or timeout is None or timeout < SPREAD_FROM:
        return waiting
    # An early question moves on only a wait for a question: a question for an approval still needs an answer.
    event = NextEvent.ASKS_AGAIN if waiting.asks_next else None
    return waiting.or_until(Deadline(now + timeout * random.uniform(*SPREAD), event))


def after_late_answers(late: int, random: Random) -> timedelta:
    """The wait before the next question after this many late answers in a row.

    With thousands of questions at once an answer may be too old when it is read. Asking again immediately
    would delay the other incidents, so from the second late answer on each wait is longer.
    """
    if late <= 1:
        return timedelta()  # the worker may have been down
    return LATE_ANSWERS.wait(late - 1, random.random())


def until_renewal(memory: Memory) -> timedelta | None:
    """How long a question may wait for its answer; None: there is no Lease to renew."""
    renew_at = renewal_at(memory)
    return None if renew_at is None else max(SHORTEST_WAIT, renew_at - workflow.now())


def renewal_at(memory: Memory) -> datetime | None:
    """When the Lease must be renewed even without an answer; None: there is none."""
    is_kept = memory.lease.may_be_held and not memory.is_exhausted and memory.clean_up_at is None
    return memory.lease.renew_at if is_kept else None
