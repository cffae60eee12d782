"""BlindTimes: in which times clusters were not seen, and until when, kept over restarts (rule 37).

That the management cluster was upgraded its own objects say. Of a lost connection nobody knows but who lost
it, and of an outage that was suspected nothing is seen any more once it is over. So the detector that leads
notes both on the Lease that it leads by, and one that starts goes on from there. What is noted without an end
ends when that one has read the cluster. What is noted and cannot be read may be anything (ADR 21).
"""

import asyncio
from collections.abc import Callable, Mapping
from functools import partial

from pydantic import TypeAdapter, ValidationError

from detector.watching.node_watch import LOST, BlindTime
from detector.watching.workload_clusters import MOST_FORGOTTEN
from health.gate.outage_guard import is_group_key
from kube.absence import none_if_absent
from kube.client import Client
from kube.errors import KubernetesError
from kube.resource import LEASES
from runtime.problems import Problems
from runtime.retrying import retry_forever

ANNOTATION = "paramedic.dev/blind-times"
LOOK_SECONDS = 1.0
PART = "blind times"
_NOTED = TypeAdapter(dict[str, BlindTime])


class BlindTimes:
    """Those of connections by cluster, and of suspected outages by `NodeGroup.key`, on one Lease."""

    def __init__(self, client: Client, namespace: str, lease: str, problems: Problems) -> None:
        self._client = client
        self._namespace = namespace
        self._lease = lease
        self._problems = problems
        self._noted: dict[str, BlindTime] | None = {}

    async def read(self) -> None:
        """Read what is noted, however long that takes; before anything is watched."""
        self._noted = await retry_forever(PART, self._read, (KubernetesError,), self._problems)

    def of(self, cluster: str) -> BlindTime:
        """What was noted before this process began; a word for a cluster is none for a group."""
        return LOST if self._noted is None else self._noted.get(cluster, BlindTime())

    async def lead(self, blind_times: Callable[[], Mapping[str, BlindTime]]) -> None:
        """Note what changes, until cancelled; only who leads may."""
        written: dict[str, BlindTime] = {}
        while True:
            known = dict(blind_times())
            known = self._of_others(known) | known
            if known != written:
                writing = partial(self._write, known)
                await retry_forever(PART, writing, (KubernetesError,), self._problems)
                written = known
            await asyncio.sleep(LOOK_SECONDS)

    def _of_others(self, known: Mapping[str, BlindTime]) -> dict[str, BlindTime]:
        """What was noted of clusters that this process knows nothing of yet, as nobody has named them."""
        kept = {
            key: noted
            for key, noted in (self._noted or {}).items()
            if key not in known and not is_group_key(key) and noted != BlindTime()
        }
        return dict(list(kept.items())[-MOST_FORGOTTEN:])

    async def _read(self) -> dict[str, BlindTime] | None:
        """What is noted; None where it cannot be understood."""
        lease = await none_if_absent(self._client.get(LEASES, self._lease, self._namespace))
        if lease is None:
            return {}  # nobody has led yet
        text = (lease["metadata"].get("annotations") or {}).get(ANNOTATION, "{}")
        try:
            return _NOTED.validate_json(text)
        except ValidationError:
            return None

    async def _write(self, known: dict[str, BlindTime]) -> None:
        text = _NOTED.dump_json(known, exclude_defaults=True).decode()
        patch = {"metadata": {"annotations": {ANNOTATION: text}}}
        await self._client.merge_patch(LEASES, self._lease, patch, self._namespace)
