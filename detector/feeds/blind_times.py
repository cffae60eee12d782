"""Notes on when clusters were not visible, kept over restarts of the detector (rule 37).

The objects of the management cluster show its upgrades. But only the detector that lost a connection knows of
the loss, and a suspected outage leaves no trace once it is over. So the detector notes both on the leader
Lease: connections by cluster, suspected outages by `NodeGroup.key`. A note without an end ends when the
detector that starts has read the cluster (ADR 21).
"""

from typing import TypeAlias

from pydantic import TypeAdapter

from detector.feeds.lease_notes import LeaseNotes, NoteKind
from detector.feeds.node_watch import LOST, BlindTime
from health.policy.outage_guard import is_group_key

ANNOTATION = "paramedic.dev/blind-times"
BLIND_TIMES = NoteKind(
    part="blind times",
    annotation=ANNOTATION,
    notes=TypeAdapter(dict[str, BlindTime]),
    nothing=BlindTime(),
    unreadable=LOST,
    is_kept=lambda key: not is_group_key(key),
)
BlindTimes: TypeAlias = LeaseNotes[BlindTime]
