"""In which times clusters were not seen, and until when, kept over restarts (rule 37).

That the management cluster was upgraded its own objects say. Of a lost connection nobody knows but who lost
it, and of an outage that was suspected nothing is seen any more once it is over. So both are noted on the
Lease of the leader, of connections by cluster, of suspected outages by `NodeGroup.key`. What is noted without
an end ends when the detector that starts has read the cluster (ADR 21).
"""

from typing import TypeAlias

from pydantic import TypeAdapter

from detector.watching.lease_notes import LeaseNotes, NoteKind
from detector.watching.node_watch import LOST, BlindTime
from health.gate.outage_guard import is_group_key

ANNOTATION = "paramedic.dev/blind-times"
BLIND_TIMES = NoteKind(
    "blind times",
    ANNOTATION,
    TypeAdapter(dict[str, BlindTime]),
    nothing=BlindTime(),
    unreadable=LOST,
    is_kept=lambda key: not is_group_key(key),
)
BlindTimes: TypeAlias = LeaseNotes[BlindTime]
