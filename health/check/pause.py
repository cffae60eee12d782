"""Pause: the annotation that pauses a check of Machines of either API (rule 7, MHC A.2.8, CAPI B.2.7).

While a check has it, with any value, nothing is written for the check, except a condition that it is paused
where its API has one. A check that cannot be read may be paused too, and its problem is then not reported.
The Lease of a target with a request is still renewed, to keep other holders away.
"""

from collections.abc import Mapping

from health.check.check_snapshot import CheckSnapshot
from health.model.observation import Hold, HoldReason

PAUSED = "cluster.x-k8s.io/paused"


def pause_hold(annotations: Mapping[str, str]) -> Hold | None:
    """The hold by these annotations of a check."""
    if PAUSED not in annotations:
        return None
    return Hold(reason=HoldReason.PAUSED, message=f"paused by the annotation {PAUSED}")


def is_paused(snapshot: CheckSnapshot) -> bool:
    return snapshot.parsed.is_paused if snapshot.check is None else snapshot.holds.is_fully_paused
