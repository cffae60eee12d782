"""A workflow that is woken during each question is never idle, but still continues as new."""

from typing import Any
from uuid import uuid4

import pytest
from temporalio import activity
from temporalio.client import WorkflowHandle
from temporalio.testing import WorkflowEnvironment

from health.model.moves import Phase
from health.model.observation import Observation
from health.upgrade.memory import UpgradeObservation
from tests.support.story import workers
from tests.support.story.incident import IncidentDriver
from tests.support.story.polling import polled
from tests.support.story.upgrading import Upgrading, states
from tests.support.values.observations import held
from workflows.contracts import OBSERVE, ObserveInput
from workflows.upgrade_contracts import OBSERVE_UPGRADE, ObserveUpgradeInput
from workflows.upgrade_pause import UpgradePause

pytestmark = pytest.mark.rule("rule 34")


class Switch:
    """While it is on, each question is answered together with a wake."""

    is_on = True


async def until_continued(handle: WorkflowHandle[Any, Any], first_run_id: str) -> None:
    async def is_continued() -> bool:
        return (await handle.describe()).run_id != first_run_id

    await polled(is_continued)


async def test_upgrade_pause_goes_on_in_a_new_run(short_histories: WorkflowEnvironment) -> None:
    upgrading, waking = Upgrading(short_histories), Switch()

    @activity.defn(name=OBSERVE_UPGRADE.name)
    async def observe(question: ObserveUpgradeInput) -> UpgradeObservation:
        if waking.is_on:
            await upgrading.handle.signal(UpgradePause.wake)
        return await upgrading.observe(question)

    detector = workers.detector(upgrading.client, upgrading.cluster, [observe])
    async with detector, upgrading.worker():
        first = await upgrading.start()
        await until_continued(upgrading.handle, first.first_execution_run_id or "")
        waking.is_on = False
        state = await upgrading.rests()
        await upgrading.handle.terminate()

    assert upgrading.annotations() == {"a": "PM", "b": "PM"}
    assert len(states(state)) == len(upgrading.api.patches) == len(upgrading.api.checks)


async def test_incident_goes_on_in_a_new_run(short_histories: WorkflowEnvironment) -> None:
    incident, waking = IncidentDriver(short_histories, f"test-{uuid4().hex[:8]}"), Switch()

    @activity.defn(name=OBSERVE.name)
    async def observe(question: ObserveInput) -> Observation:
        if waking.is_on:
            await incident.wake()
        return await incident.cluster.observe(question)

    async with workers.detector(incident.client, incident.name, [observe]), incident.worker():
        await incident.start(held())
        await incident.wake()
        await until_continued(incident.handle, (await incident.histories())[0].run_id)
        waking.is_on = False
        await incident.reaches(Phase.HELD)
        await incident.handle.terminate()

    assert incident.cluster.acts == []
