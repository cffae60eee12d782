"""Wrong values in messages to a workflow are refused by field and value, in plain words."""

from typing import Any
from uuid import uuid4

import pytest
from temporalio import workflow
from temporalio.client import Client, WorkflowUpdateFailedError
from temporalio.exceptions import ApplicationError
from temporalio.worker import Worker

from devcluster.temporal import TemporalServer
from health.runbook.orders import HoldOrder
from runtime.payload_codec import PROCESS_DATA, InvalidPayload, with_keys
from tests.support.cluster.temporal_servers import client_of
from tests.support.values.payload_keys import THIS_YEAR, keys_file, read


@workflow.defn(sandboxed=False)
class Held:
    """Ends with the reason of the first order that it gets."""

    def __init__(self) -> None:
        self._reason = ""

    @workflow.run
    async def run(self) -> str:
        await workflow.wait_condition(lambda: bool(self._reason))
        return self._reason

    @workflow.update
    def hold(self, order: HoldOrder) -> None:
        self._reason = order.reason


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("now", "must be a mapping (found 'now')"),
        ([1], "must be a mapping (found [1])"),
        (None, "must be a mapping (found null)"),
        ({"for_seconds": "2h"}, "for_seconds: must be a number (found '2h')"),
        ({"for_seconds": -5}, "for_seconds: must be more than 0 (found -5)"),
        ({"reason": {"x": "\u202e" * 1_000}}, 'reason: must be text (found {"x": "\\u202e\\u202e'),
    ],
)
async def test_wrong_value_is_refused_by_field_and_value(value: object, words: str) -> None:
    payloads = await PROCESS_DATA.encode([value])
    with pytest.raises(InvalidPayload) as refused:
        await PROCESS_DATA.decode(payloads, [HoldOrder])
    assert str(refused.value).startswith(words)
    assert len(str(refused.value)) < 250
    assert refused.value.__cause__ is None


async def test_sender_of_an_update_reads_these_words_and_the_workflow_goes_on(
    temporal_server: TemporalServer,
) -> None:
    sender = await client_of(temporal_server)
    ours = Client(**(sender.config() | {"data_converter": PROCESS_DATA}))
    queue = f"q-{uuid4().hex[:8]}"
    async with Worker(ours, task_queue=queue, workflows=[Held]):
        held = await ours.start_workflow(Held.run, id=queue, task_queue=queue)
        assert await _refusal(sender, queue, {"for_seconds": "2h"}) == (
            "InvalidPayload: for_seconds: must be a number (found '2h')"
        )
        await held.execute_update(Held.hold, HoldOrder(reason="disk swap"))
        assert await held.result() == "disk swap"


async def _refusal(sender: Client, workflow_id: str, value: Any) -> str:
    with pytest.raises(WorkflowUpdateFailedError) as refused:
        await sender.get_workflow_handle(workflow_id).execute_update("hold", value)
    assert isinstance(refused.value.cause, ApplicationError)
    return str(refused.value.cause.cause)


async def test_words_stay_the_same_with_encryption(tmp_path: Any) -> None:
    encrypting = with_keys(
        read(keys_file(tmp_path / "keys", THIS_YEAR, requires_encryption=True)), PROCESS_DATA
    )
    with pytest.raises(InvalidPayload, match="must be a mapping"):
        await encrypting.decode(await encrypting.encode(["now"]), [HoldOrder])
