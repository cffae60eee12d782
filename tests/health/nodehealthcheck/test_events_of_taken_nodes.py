"""What is told of a Node that another has: the words of the reference for its Lease, ours for a request."""

from dataclasses import replace

import pytest

from health.announcement import Severity
from health.observation import Hold, HoldReason
from tests.health.reporter import Reporter
from tests.health.samples import expired, sight

BY_LEASE = Hold(reason=HoldReason.TAKEN, message="maintenance holds its Lease")
BY_REQUEST = Hold(
    reason=HoldReason.TAKEN_BY_REQUEST, message="NodeHealthCheck/b has the request Reboot/ns/node-1 for it"
)


@pytest.mark.rule("NHC 1.5/RemediationSkipped/lease", "decision 13", "decision 15")
@pytest.mark.parametrize(
    ("hold", "why"),
    [
        pytest.param(BY_LEASE, "node lease is already taken", id="by its Lease"),
        pytest.param(BY_REQUEST, BY_REQUEST.message, id="by a request"),
    ],
)
def test_taken_node_is_told_once_with_what_holds_it(hold: Hold, why: str) -> None:
    reporter, taken = Reporter(), sight(replace(expired(), hold=hold))
    told = [note for note in reporter.sees(taken) if note[1] == "RemediationSkipped"]

    words = f"[remediation] Skipped remediation of node: node-1, because {why}"
    assert told == [(Severity.WARNING, "RemediationSkipped", words)]
    assert not reporter.sees(taken)
