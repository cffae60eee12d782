"""Skipping: how an order ends the running step of an escalation before its timeout. Pure.

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

from collections.abc import Iterable
from datetime import datetime, timedelta

from health.model.observation import ENDED, Observation
from health.model.order import OrderRecord, Refusal
from health.model.references import TemplateReference
from health.model.request_snapshot import RequestSnapshot
from health.runbook.escalation import Course, Plan, is_classic
from health.runbook.recovery import with_proof
from health.runbook.state import Memory
from objects.durations import in_words

JUST_BEGUN = timedelta(seconds=30)
"""Two people may order at once to skip what they see: the second order must not end the step after it."""


def skip(memory: Memory, order: OrderRecord, observation: Observation, now: datetime) -> Memory | Refusal:
    """The memory after the running step ended by an order, or why it does not end."""
    running = _running(memory, observation, now)
    if isinstance(running, Refusal):
        return running
    refusal = _other_step(order.step, running, memory.plan(observation)) or _last(
        running, memory, observation, now
    )
    return refusal or memory.having_skipped(running.uid)


def skippable(memory: Memory, observation: Observation, now: datetime) -> str | Refusal:
    """The name of the step that an order would end now, or why it would end none."""
    running = _running(memory, observation, now)
    if isinstance(running, Refusal):
        return running
    return _last(running, memory, observation, now) or _name_of(running, memory.plan(observation))


def just_begun(memory: Memory, observation: Observation, now: datetime) -> Refusal | None:
    """The refusal of an order without a name while its step may have begun after the order was written."""
    running = _running(memory, observation, now)
    if isinstance(running, Refusal) or now - running.created >= JUST_BEGUN:
        return None
    age = in_words(now - running.created)
    return Refusal(f"{_name_of(running, memory.plan(observation))} began only {age} ago; name it with --step")


def why_blocked(memory: Memory) -> Refusal | None:
    """The reason by which an incident refuses, whatever runs."""
    if memory.standing:
        order = memory.standing[-1]
        return Refusal(f"the order {order.order} stands: {order.reason}; it needs resume first")
    return Refusal("the check is in shadow, so no step is taken") if memory.is_shadow else None


def _running(memory: Memory, observation: Observation, now: datetime) -> RequestSnapshot | Refusal:
    observation = with_proof(memory.complete(observation), memory)
    if refusal := why_blocked(memory) or _not_escalating(memory, observation):
        return refusal
    plan = memory.plan(observation)
    course = plan.course(observation.requests, now)
    if course.running is None:
        return Refusal(_nothing_runs(memory, plan, course))
    return course.running


def _last(
    running: RequestSnapshot, memory: Memory, observation: Observation, now: datetime
) -> Refusal | None:
    without = memory.having_skipped(running.uid).plan(observation).course(observation.requests, now)
    why = f"no step follows {_name_of(running, memory.plan(observation))}"
    return Refusal(why) if without.is_exhausted else None


def _name_of(running: RequestSnapshot, plan: Plan) -> str:
    """The shortest name with its kind that means the step of this request and no other step."""
    return _short(_template(running, plan), _templates(running, plan))


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
    next_name = _short(following, (step.template for step in plan.steps))
    if memory.has_acted or course.over or plan.spent:  # another actor may have deleted the request
        return f"no step runs, and {next_name} is next"
    return f"no step was taken yet; {next_name} is next"


def _other_step(name: str, running: RequestSnapshot, plan: Plan) -> Refusal | None:
    """The refusal of a name that is missing, or does not mean the running step alone."""
    runs = f"{_name_of(running, plan)} runs"
    if not name:
        return Refusal(f"an order to skip names the step; {runs}", field="step")
    meant = {one for one in _templates(running, plan) if name in _names(one)}
    if meant == {_template(running, plan)}:
        return None
    if len(meant) > 1:
        return Refusal(f"{name!r} names {len(meant)} steps; {runs}", field="step")
    return Refusal(f"the step {name!r} does not run; {runs}", field="step")


def _templates(running: RequestSnapshot, plan: Plan) -> frozenset[TemplateReference]:
    return frozenset({_template(running, plan), *(step.template for step in plan.steps)})


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


def _short(template: TemplateReference, all_templates: Iterable[TemplateReference]) -> str:
    name = f"{template.kind}/{template.name}"
    others = (one for one in all_templates if one != template)
    return str(template) if any(name in _names(one) for one in others) else name


def _names(template: TemplateReference) -> tuple[str, ...]:
    return template.name, f"{template.kind}/{template.name}", str(template)
