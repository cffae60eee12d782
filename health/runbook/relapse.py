"""Relapse: a failure that comes back soon after a remediation (rule 64). Pure.

With `paramedic.dev/relapse` a failure within that time goes on with the step after those that the earlier
remediation took; a relapse of a relapse with the step after that one. A step counts as taken if the check
still lists its template. The failure lasts until the target is healthy, whatever its condition is meanwhile.
With no step left it is exhausted after its duration, and counts as a remediation once the target recovers.
An order to remediate is no failure, and begins with the first step; so does the failure after an abort. A
classic remediation has one step, and no relapse.

Without it, remediations that take the same first steps alone are counted, and said from the third one on.
"""

from datetime import timedelta

from health.check.ordered import is_by_order
from health.model.incident_result import IN_A_ROW
from health.model.observation import ENDED, Observation, TargetState
from health.runbook.escalation import is_classic
from health.runbook.state import Memory


def with_relapse(memory: Memory, observation: Observation) -> Memory:
    """The memory with the steps that count as taken, until the first step; the check may change till then.

    An earlier remediation that ended too long ago is forgotten.
    """
    earlier, fact = memory.earlier, observation.fact
    if earlier is None or memory.taken:
        return memory
    if memory.left_alone:
        return memory.model_copy(update={"earlier": None, "relapsed": ()})
    if observation.state in ENDED:
        recovered = memory.recovery.healthy_since if memory.is_exhausted else None
        over = {"ended": recovered or earlier.ended, "came_back": None}
        return memory.model_copy(update={"earlier": earlier.model_copy(update=over), "relapsed": ()})
    if fact is None or not observation.is_unhealthy:
        return memory
    if is_by_order(fact):
        return memory.model_copy(update={"relapsed": ()})
    earlier = earlier.model_copy(update={"came_back": earlier.came_back or fact.since})
    relapse = timedelta(seconds=observation.relapse_seconds)
    is_relapse = bool(relapse) and earlier.is_within(relapse) and not is_classic(observation)
    is_in_time = earlier.is_within(max(IN_A_ROW, relapse))
    changes = {"earlier": earlier if is_in_time else None, "relapsed": earlier.taken if is_relapse else ()}
    return memory.model_copy(update=changes)


def waits(memory: Memory, observation: Observation) -> bool:
    """True for a relapse before the end of its duration: with no step left, it is not exhausted yet."""
    is_new = bool(memory.relapsed) and not memory.taken and not memory.is_exhausted
    return is_new and observation.state is TargetState.WAITING
