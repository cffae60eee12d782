"""Skips: how an order ends the running step of an escalation before its timeout. Pure.

The request of that step counts as timed out: its remediator is asked to stop (NHC 2.4/6), and the next step
is due. The next step needs an admission, so holds and limits apply to it. The first row that matches refuses:

| state                                      | why                                                    |
|--------------------------------------------|--------------------------------------------------------|
| a person's order blocks steps, or shadow   | a skip is no `resume`, and in shadow no step is taken  |
| healthy, gone or released                  | the remediation is over                                |
| a remediation without timeouts             | the check has no escalation                            |
| a person ordered a restart                 | its requests are deleted                               |
| no request runs                            | no step was taken yet, or the step is over already     |
| the order names another step, or several   | a second skip of a step must not end the next one      |
| no step follows                            | the request of the last step is kept                   |
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from health.model.observation import ENDED, Observation
from health.model.order import OrderRecord, Refusal
from health.model.references import TemplateReference
from health.model.request_snapshot import RequestSnapshot
from health.runbook.escalation import Course, Plan, is_classic, meant_by, short_name
from health.runbook.recovery import with_proof
from health.runbook.state import Memory
from objects.durations import in_words

JUST_BEGUN = timedelta(seconds=30)
"""Two people may order at once to skip what they see: the second order must not end the step after it."""


@dataclass(frozen=True)
class RunningStep:
    """The step that runs, by its request."""

    request: RequestSnapshot
    plan: Plan
    is_last: bool

    @property
    def template(self) -> TemplateReference:
        return _template(self.request, self.plan)

    @property
    def templates(self) -> frozenset[TemplateReference]:
        """Its template and those of all steps."""
        return frozenset({self.template, *(step.template for step in self.plan.steps)})

    @property
    def name(self) -> str:
        """The shortest name with its kind that means this step and no other one."""
        return short_name(self.template, self.templates)


def skip(memory: Memory, order: OrderRecord, observation: Observation, now: datetime) -> Memory | Refusal:
    """The memory after the running step ended by an order, or why it does not end."""
    running = _running(memory, observation, now)
    if isinstance(running, Refusal):
        return running
    return _other_step(order.step, running) or _last(running) or memory.having_skipped(running.request.uid)


def skippable(memory: Memory, observation: Observation, now: datetime) -> RunningStep | Refusal:
    """The step that an order would end now, or why it would end none."""
    running = _running(memory, observation, now)
    if isinstance(running, Refusal):
        return running
    return _last(running) or running


def just_begun(running: RunningStep, now: datetime) -> Refusal | None:
    """The refusal of an order without a name while its step may have begun after the order was written."""
    age = now - running.request.created
    if age >= JUST_BEGUN:
        return None
    return Refusal(f"{running.name} began only {in_words(age)} ago; name it with --step")


def why_blocked(memory: Memory) -> Refusal | None:
    """The reason by which an incident refuses, whatever runs."""
    if memory.is_blocked:
        return Refusal(f"an order stands and needs resume first: {memory.blocking[-1].words}")
    return Refusal("the check is in shadow, so no step is taken") if memory.is_shadow else None


def _running(memory: Memory, observation: Observation, now: datetime) -> RunningStep | Refusal:
    observation = with_proof(memory.complete(observation), memory)
    if refusal := why_blocked(memory) or _not_escalating(memory, observation):
        return refusal
    plan = memory.plan(observation)
    course = plan.course(observation.requests, now)
    if course.running is None:
        return Refusal(_nothing_runs(memory, plan, course))
    without = memory.having_skipped(course.running.uid).plan(observation).course(observation.requests, now)
    return RunningStep(course.running, plan, is_last=without.is_exhausted)


def _last(running: RunningStep) -> Refusal | None:
    return Refusal(f"no step follows {running.name}") if running.is_last else None


def _not_escalating(memory: Memory, observation: Observation) -> Refusal | None:
    if observation.state in ENDED:
        return Refusal(f"no step runs: {observation.reason}")
    if observation.steps and is_classic(observation):
        return Refusal("the check has no escalation, so no step follows")
    return Refusal("it starts over by order, which deletes its requests") if memory.starts_over else None


def _nothing_runs(memory: Memory, plan: Plan, course: Course) -> str:
    if course.next_step is None:
        return "no step runs, and no template is left to try"
    following = plan.steps[course.next_step].template
    next_name = short_name(following, (step.template for step in plan.steps))
    if memory.has_acted or course.over or plan.spent:  # another actor may have deleted the request
        return f"no step runs, and {next_name} is next"
    return f"no step was taken yet; {next_name} is next"


def _other_step(name: str, running: RunningStep) -> Refusal | None:
    """The refusal of a name that is missing, or does not mean the running step alone."""
    runs = f"{running.name} runs"
    if not name:
        return Refusal(f"an order to skip names the step; {runs}", field="step")
    meant = meant_by(name, running.templates)
    if meant == {running.template}:
        return None
    if len(meant) > 1:
        return Refusal(f"{name!r} names {len(meant)} steps; {runs}", field="step")
    return Refusal(f"the step {name!r} does not run; {runs}", field="step")


def _template(running: RequestSnapshot, plan: Plan) -> TemplateReference:
    """The template of a request; if the check does not list it, as the request names it."""
    step = plan.step_of(running.reference)
    if step is not None:
        return step.template
    request = running.reference
    return TemplateReference(
        api_version=request.api_version,
        kind=f"{request.kind}Template",
        namespace=request.namespace,
        name=request.template or request.name,
    )
