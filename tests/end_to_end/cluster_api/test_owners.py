"""The owner of a marked Machine: its messages are shown and kept, and its end ends the incident."""

import pytest

from tests.end_to_end.cluster_api.fleet import OWNER, Fleet
from tests.support.cluster.command import Command
from tests.support.story.machine_incidents import CHECK
from tests.support.story.paramedic import Paramedic

pytestmark = pytest.mark.cluster

DEFERRED, REFUSED = "RemediationDeferred", "CannotBeRemediated"
TOO_MANY = "Waiting because there are already too many remediations in progress"
LAST_ONE = "KubeadmControlPlane can't remediate its only machine"


@pytest.mark.rule(
    "CAPI B.2.6/waiting",
    "CAPI B.2.6/refused",
    "CAPI B.2.6/cancelled",
    "CAPI B.2.6/replaced",
    "CAPI B.2.5/taken back by nobody",
    "CAPI B.2.5/no deletion",
)
async def test_owners_words_are_shown_and_stay_and_recovery_or_deletion_ends_the_incident(
    fleet: Fleet, paramedic: Paramedic
) -> None:
    recovers, replaced = names = await fleet.add("recovers", "replaced")
    await fleet.add_check()
    await fleet.nodes.fail(*names)
    await fleet.until_marked(*names)
    await fleet.say(recovers, OWNER, DEFERRED, TOO_MANY)
    await fleet.say(replaced, OWNER, REFUSED, LAST_ONE)

    for name, reason, message in ((recovers, DEFERRED, TOO_MANY), (replaced, REFUSED, LAST_ONE)):
        words = f"is marked for its owner: {reason}: {message}"
        await fleet.until_state(name, lambda state, words=words: words in state.details)  # type: ignore[misc]
    listed = await Command(paramedic.detector.environment)("list", "--check", CHECK, "-o", "json")
    assert TOO_MANY in listed.out
    said = await fleet.condition(recovers, OWNER)
    await fleet.nodes.recover(recovers)
    assert await fleet.outcome(recovers) == "Remediated"
    await fleet.until_healthy(recovers)
    assert await fleet.condition(recovers, OWNER) == said
    await fleet.delete(replaced)
    assert await fleet.outcome(replaced) == "Remediated"
