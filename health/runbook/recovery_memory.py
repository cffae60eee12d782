"""RecoveryMemory: by what an incident tells that its target booted, and for how long it is healthy. Pure.

Before: the boot ID that the target had right before the first step that counts. A request says it itself, so
that a lost answer, a lost incident and a boot between a look and the request change nothing. A step is the
first one while nothing else of the remediation is there or was tried.

Healthy: since the incident first saw it so, with one boot ID and one time of the latest transition of what
it is judged by. Another one of these is a gap, seen or not. The times of kubelets tell gaps and measure
nothing: the clock of a machine that has just booted may be off.
"""

from datetime import datetime
from typing import Self

from health.model.observation import Observation, TargetState
from objects.frozen import Frozen


class RecoveryMemory(Frozen):
    """What is known of the boots and the health of one target."""

    boot_id_before: str | None = None
    """None: no step was taken; "": nobody knows it."""
    healthy_since: datetime | None = None
    """Without a gap; None: it is not healthy."""
    boot_id: str = ""
    """While it is healthy; "": nobody knows it."""
    last_transition: datetime | None = None
    """While it is healthy; None: nobody knows it."""

    def begun(self, boot_id: str, *, is_first: bool) -> Self:
        """The same once a step was taken of a target with this boot ID."""
        if self.boot_id_before is not None and not is_first:
            return self
        return self._with(boot_id_before=boot_id)

    def observed(self, seen: Observation, now: datetime) -> Self:
        """The same once the target was looked at; where nobody can tell nothing is learned."""
        if seen.state is TargetState.UNKNOWN:
            return self
        if seen.state is not TargetState.HEALTHY:
            return self._with(healthy_since=None, boot_id="", last_transition=None)
        known = self.boot_id, self.last_transition
        if self.healthy_since is not None and known == (seen.boot_id, seen.last_transition):
            return self
        return self._with(healthy_since=now, boot_id=seen.boot_id, last_transition=seen.last_transition)

    def anew(self, boot_id: str) -> Self:
        """The same once all steps are to be taken anew: they have to prove what follows them."""
        return self if self.boot_id_before is None else self._with(boot_id_before=boot_id)

    def over(self) -> Self:
        """The same once nothing is left of the remediation: there is nothing to prove."""
        return self._with(boot_id_before=None)

    def _with(self, **changes: object) -> Self:
        return self.model_copy(update=changes)
