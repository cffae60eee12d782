"""Orders: what people tell an incident: `abort`, `hold` and `resume`, as updates and as signals.

An order is only written into the memory here, whenever it comes; the runbook obeys it at its next step.
"""

from datetime import datetime, timedelta

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from health.model.incident_result import OrderRecord
    from health.model.references import IncidentReference
    from health.runbook.memory import NOT_HELD, NOT_LEFT_ALONE, Memory
    from workflows.messages import AbortOrder, HoldOrder, ResumeOrder


class Orders:
    """The base of a workflow that takes orders."""

    def __init__(self, incident: IncidentReference, memory: Memory) -> None:
        self._incident = incident
        self._memory = memory
        self._orders = 0
        self._step_names: tuple[str, ...] = ()
        """The templates of the check, as it was seen last."""

    @workflow.update
    def abort(self, order: AbortOrder = AbortOrder()) -> str:
        """Clean up and leave the target alone."""
        self._leave_alone(order)
        return f"cleans up and leaves {self._incident.target} alone: {order.reason}"

    @workflow.update
    def hold(self, order: HoldOrder = HoldOrder()) -> str:
        """Do nothing new, and keep what exists; an act that is under way is finished."""
        self._hold(order)
        return f"does nothing new for {self._incident.target} and keeps what exists: {order.reason}"

    @workflow.update
    def resume(self, order: ResumeOrder = ResumeOrder()) -> str:
        """Take care of the target again, at once; one that is exhausted begins its steps anew."""
        self._take_up(order)
        return f"takes care of {self._incident.target} again: {order.reason}"

    @resume.validator
    def _refuse_unknown_step(self, order: ResumeOrder = ResumeOrder()) -> None:
        if order.step and self._step_names and order.step not in self._step_names:
            known = ", ".join(self._step_names)
            raise ValueError(f"step: no step uses the template {order.step!r}; the templates are {known}")

    @workflow.signal(name="abort")
    def abort_by_signal(self, order: AbortOrder = AbortOrder()) -> None:
        """As the update `abort`, without an answer."""
        self._leave_alone(order)

    @workflow.signal(name="hold")
    def hold_by_signal(self, order: HoldOrder = HoldOrder()) -> None:
        """As the update `hold`, without an answer."""
        self._hold(order)

    @workflow.signal(name="resume")
    def resume_by_signal(self, order: ResumeOrder = ResumeOrder()) -> None:
        """As the update `resume`, without an answer."""
        self._take_up(order)

    def _leave_alone(self, order: AbortOrder) -> None:
        until = _end(order.for_seconds)
        self._remember(left_alone=True, left_alone_reason=order.reason, left_alone_until=until)
        self._note("abort", order.reason, until)

    def _obey_cancel(self) -> None:
        """A cancel means `abort`. Temporal tells a run of its first cancel only: after `resume`, `abort`."""
        self._leave_alone(AbortOrder(reason="cancelled in Temporal"))

    def _hold(self, order: HoldOrder) -> None:
        until = _end(order.for_seconds)
        self._remember(held=True, held_reason=order.reason, held_until=until)
        self._note("hold", order.reason, until)

    def _take_up(self, order: ResumeOrder) -> None:
        self._remember(**NOT_LEFT_ALONE, **NOT_HELD, skips_back_off=True, failing=None)
        if order.step or self._memory.is_exhausted:
            self._remember(starts_over=True, first_step=order.step)
        self._note("resume", order.reason, None)

    def _note(self, order: str, reason: str, until: datetime | None) -> None:
        """Remember it for the result; what waits to be cleaned up is tried at once."""
        record = OrderRecord(order=order, reason=reason, given=workflow.now(), until=until)
        self._memory = self._memory.ordered(record).model_copy(update={"clean_up_at": None})
        self._orders += 1

    def _remember(self, **changes: object) -> None:
        self._memory = self._memory.model_copy(update=changes)


def _end(seconds: float | None) -> datetime | None:
    """When an order that is given now, for so long, is over; None: never by itself."""
    return None if seconds is None else workflow.now() + timedelta(seconds=seconds)
