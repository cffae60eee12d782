"""Incidents and upgrade pauses that began with an earlier version of their workflow continue with this one.

`make histories` records them, see tests/histories/record.py. Replaying needs no server.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.worker import Replayer
from temporalio.workflow import NondeterminismError

from tests.histories.files import HERE, RECORDER, files_of, read
from tests.support.story.sandbox import workflow_runner
from tests.workflows.changed_remediation import GuardedChange, UnguardedChange
from tests.workflows.scenarios import BARE_SCENARIOS, LONG_SCENARIOS, SCENARIOS
from tests.workflows.scenarios_of_upgrades import LONG_UPGRADE_SCENARIOS, UPGRADE_SCENARIOS
from workflows.contracts import ACT
from workflows.remediation import Remediation
from workflows.upgrade_pause import UpgradePause

RECORDED = sorted(HERE.glob("*.json"))
A_FEW = 6
MOST_EVENTS = {"remediated": 42, "remediated-at-once": 31, "lease-renewed": 31 + 4 * 11}
"""docs/temporal-ui.md lists the events and says why they are needed; a renewal of the Lease has 11."""
OF_SKIPPED_TIME = {
    "EVENT_TYPE_WORKFLOW_EXECUTION_OPTIONS_UPDATED",
    "EVENT_TYPE_WORKFLOW_EXECUTION_TIME_SKIPPING_TRANSITIONED",
}
"""Events of the server for tests, which skips time."""
WITH_AN_ACT = [file for file in RECORDED if f'"name": "{ACT.name}"' in file.read_text()]


def _replayer(*workflows: type[Any]) -> Replayer:
    return Replayer(
        workflows=workflows,
        workflow_runner=workflow_runner(),  # so no recorded path is nondeterministic
        data_converter=pydantic_data_converter,
    )


@pytest.mark.parametrize(
    "story",
    [
        *SCENARIOS,
        *LONG_SCENARIOS,
        *BARE_SCENARIOS,
        *UPGRADE_SCENARIOS,
        *LONG_UPGRADE_SCENARIOS,
    ],
)
def test_story_is_recorded(story: str) -> None:
    assert files_of(story), "run `make histories`"


def test_most_stories_have_an_act_so_that_a_change_of_it_would_be_found() -> None:
    assert len(WITH_AN_ACT) > len(RECORDED) / 2


@pytest.mark.parametrize("file", RECORDED, ids=lambda file: file.stem)
async def test_workflow_that_began_earlier_goes_on(file: Path) -> None:
    await _replayer(Remediation, UpgradePause).replay_workflow(read(file))


@pytest.mark.parametrize("file", WITH_AN_ACT[:A_FEW], ids=lambda file: file.stem)
async def test_change_of_the_commands_without_a_patch_is_found(file: Path) -> None:
    with pytest.raises(NondeterminismError):
        await _replayer(UnguardedChange).replay_workflow(read(file))


@pytest.mark.parametrize("file", WITH_AN_ACT[:A_FEW], ids=lambda file: file.stem)
async def test_change_of_the_commands_with_a_patch_is_not_one_for_incidents_that_began_earlier(
    file: Path,
) -> None:
    await _replayer(GuardedChange).replay_workflow(read(file))


@pytest.mark.parametrize("file", RECORDED, ids=lambda file: file.stem)
def test_story_goes_to_its_end(file: Path) -> None:
    """A replay cannot tell if the last commands of an open history have changed."""
    last = json.loads(file.read_text())["events"][-1]["eventType"]
    assert last in {
        "EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED",
        "EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW",
    }


@pytest.mark.parametrize("file", RECORDED, ids=lambda file: file.stem)
def test_recording_says_nothing_of_the_machine_that_made_it(file: Path) -> None:
    text = file.read_text()
    content = json.loads(text)
    assert set(_identities(content)) == {RECORDER}
    assert "@" not in text, "an identity or a queue that is named after a host"
    assert not re.search(r"(?<![\w/])/(home|Users|root|tmp|work|usr|opt)/", text)
    assert content["events"][0]["eventType"] == "EVENT_TYPE_WORKFLOW_EXECUTION_STARTED"


@pytest.mark.parametrize(("story", "most"), MOST_EVENTS.items())
def test_history_of_a_simple_remediation_has_no_event_that_is_not_needed(story: str, most: int) -> None:
    (file,) = files_of(story)
    kinds = [event["eventType"] for event in json.loads(file.read_text())["events"]]
    assert len([kind for kind in kinds if kind not in OF_SKIPPED_TIME]) <= most


def _identities(value: Any) -> Iterator[str]:
    """The identities in events of Temporal; in our messages, `identity` is the user of a scenario."""
    if isinstance(value, list):
        for part in value:
            yield from _identities(part)
    if isinstance(value, dict):
        if "identity" in value:
            yield value["identity"]
        for key, part in value.items():
            if key != "json":
                yield from _identities(part)
