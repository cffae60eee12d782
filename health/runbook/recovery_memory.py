"""RecoveryMemory: how an incident recognizes a new boot of its target, and how long it is healthy. Pure.

Before: the boot ID that the target had right before the first step that counts. The request itself records
it, so a lost answer, a lost incident or a boot between a look and the request do no harm. A step is the
first one while no other part of the remediation exists or was tried.

Healthy: since the incident first saw it so, with the same boot ID and the same time of the latest transition
of a relevant condition. A change of either is a gap, whether or not the incident saw the unhealthy state.
The kubelet's timestamps only reveal gaps and measure no time, because the clock of a machine that has just
booted may be off.
"""

from datetime import datetime
from typing import Self

from health.model.observation import Observation, TargetState
from objects.frozen import Frozen


class RecoveryMemory(Frozen):
    """The boots and the health of one target."""

    boot_id_before: str | None = None
    """None: no step was taken; "": unknown."""
    healthy_since: datetime | None = None
    """Without a gap; None: the target is not healthy."""
    boot_id: str = ""
    """The boot ID while healthy; "": unknown."""
    last_transition: datetime | None = None
    """The latest transition while healthy; None: unknown."""

    def begun(self, boot_id: str, *, is_first: bool) -> Self:
        """The same after a step on a target with this boot ID."""
        if self.boot_id_before is not None and not is_first:
            return self
        return self._with(boot_id_before=boot_id)

    def observed(self, seen: Observation, now: datetime) -> Self:
        """The same after an observation; an unknown state changes nothing."""
        if seen.state is TargetState.UNKNOWN:
            return self
        if seen.state is not TargetState.HEALTHY:
            return self._with(healthy_since=None, boot_id="", last_transition=None)
        known = self.boot_id, self.last_transition
        if self.healthy_since is not None and known == (seen.boot_id, seen.last_transition):
            return self
        return self._with(healthy_since=now, boot_id=seen.boot_id, last_transition=seen.last_transition)

    def anew(self, boot_id: str) -> Self:
        """The same once all steps are to be taken again: the new steps need a proof too."""
        return self if self.boot_id_before is None else self._with(boot_id_before=boot_id)

    def over(self) -> Self:
        """The same once nothing is left of the remediation and no proof is needed."""
        return self._with(boot_id_before=None)

    def _with(self, **changes: object) -> Self:
        return self.model_copy(update=changes)
