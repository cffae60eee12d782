"""What deleting and marking a Machine have in common: what its check still wants, and what a refusal is."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import cast

from activities.held import Held
from activities.revalidation import Confirmed, not_true
from health.kinds.openshift.machine import MachineTarget
from health.model.event import Event
from health.model.remediation_request import Attempt
from kube.errors import Conflict, Forbidden, Invalid
from workflows.contracts import ActInput


def machine_of(confirmed: Confirmed) -> MachineTarget:
    """The target of a check of Machines."""
    return cast("MachineTarget", confirmed.target)


def refuse_other_step(asked: ActInput, confirmed: Confirmed) -> None:
    """Refuse the step that was asked for, unless the check would take just that one now.

    Annotations say what it does, and the phase of the Machine does; neither is told by a generation.

    Raises:
        Held: the check would do something else, or nothing.

    """
    if asked.step not in confirmed.check.steps_for(confirmed.target):
        raise not_true(f"{asked.incident.check} no longer says: {asked.step.action}")


def attempt_of(asked: ActInput) -> Attempt:
    """Which attempt is made, for what is told of it."""
    return Attempt(incident=asked.incident, run_id=asked.run_id, number=asked.attempt)


@contextmanager
def judged(
    asked: ActInput, target: MachineTarget, failed: Callable[[Attempt, MachineTarget, str], Event]
) -> Iterator[None]:
    """Write to a Machine as it was revalidated; `failed` tells of a refusal.

    Raises:
        Held: it has changed since, or the API server refuses.

    """
    try:
        yield
    except Conflict as error:
        raise not_true(f"{target.metadata.name} changed since the second look") from error
    except (Forbidden, Invalid) as error:
        raise Held.by(error, failed(attempt_of(asked), target, error.message)) from error
