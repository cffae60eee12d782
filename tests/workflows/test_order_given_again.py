"""An order by annotation whose first attempt is lost after the incident obeyed it."""

from datetime import UTC, datetime

from temporalio import activity
from temporalio.testing import ActivityEnvironment

from activities.annotated_orders import GiveOrder
from health.model.approval import RequiredApproval
from health.model.moves import Phase
from health.runbook.annotated_order import ReceiptOutcome
from tests.support.story.annotating import Annotating
from tests.support.story.incident import IncidentDriver
from tests.support.values.observations import escalating, held
from workflows.annotated_order_contracts import (
    FIND_RECIPIENTS,
    GIVE_ORDER,
    FindRecipientsInput,
    GiveOrderInput,
    GiveOrderResult,
    Recipients,
)

BEGAN_LATER = "it began after the order was given, which was for an earlier incident"


async def give(incident: IncidentDriver, request: GiveOrderInput) -> GiveOrderResult:
    giving = GiveOrder(incident.client).give_order
    result: GiveOrderResult = await ActivityEnvironment().run(giving, request)
    return result


async def test_order_whose_answer_was_lost_is_given_to_a_later_run_again_and_obeyed_once(
    long_incident: IncidentDriver,
) -> None:
    incident = long_incident
    approval = RequiredApproval(steps=(0,))
    await incident.start(escalating().model_copy(update={"approval": approval}))
    await incident.tells("ApprovalRequired")
    request = GiveOrderInput(
        order="approve",
        message={},
        order_id="lost",
        began_before=datetime.now(UTC),
        incidents=(incident.reference,),
    )
    (first,) = (await give(incident, request)).receipts
    await incident.happens("created")
    await incident.wake_until_continued()

    (again,) = (await give(incident, request)).receipts
    assert again == first
    assert again.outcome is ReceiptOutcome.GIVEN
    (other,) = (await give(incident, request.model_copy(update={"order_id": "other"}))).receipts
    assert other.outcome is ReceiptOutcome.REFUSED
    assert other.words != BEGAN_LATER
    assert [order.order_id for order in (await incident.state()).memory.orders] == ["lost"]


class OneLostAttempt(Annotating):
    """The first attempt ends without a result, after its incident got the order and a later one began."""

    def __init__(self, incident: IncidentDriver) -> None:
        super().__init__(incident.environment)
        self.incident = incident

    @activity.defn(name=FIND_RECIPIENTS.name)
    async def find(self, _: FindRecipientsInput) -> Recipients:
        return Recipients(incidents=(self.incident.reference,))

    @activity.defn(name=GIVE_ORDER.name)
    async def give(self, request: GiveOrderInput) -> GiveOrderResult:
        result = await GiveOrder(self.client).give_order(request)
        if activity.info().attempt > 1:
            return result
        assert (await self.incident.state()).memory.held
        await self.incident.handle.terminate()
        await self.incident.start(held())
        raise ConnectionError("the worker died")


async def test_order_whose_attempt_was_lost_reaches_no_later_incident_of_the_same_target(
    incident: IncidentDriver,
) -> None:
    await incident.start(held())
    await incident.reaches(Phase.HELD)
    annotating = OneLostAttempt(incident)
    async with annotating.processes():
        await annotating.start()
        assert BEGAN_LATER in await annotating.result()
    assert not (await incident.state()).memory.orders
