"""The orders of people about one step: `skip` ends it, `approve` and `reject` answer its question. Pure.

The first row that matches refuses an answer to a question:

| state                                      | why                                                    |
|--------------------------------------------|--------------------------------------------------------|
| a person's order blocks steps, or shadow   | an approval is no `resume`                             |
| no step waits                              | an approval is for one question, and none was asked    |
| the order names no step, or another one    | it must not answer the question about a later step     |
| the question was answered by a rejection   | `resume` asks again, and the answer says so            |
| the question has another answer            | the first answer counts                                |

After a `skip` the request of the running step counts as timed out: its remediator is asked to stop (NHC
2.4/6), and the next step is due. The next step needs an admission, so holds and limits apply to it. The first
row that matches refuses it:

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

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from health.model.approval import Approval, ApprovalAnswer
from health.model.observation import ENDED, Observation
from health.model.order import OrderRecord, Refusal
from health.model.references import TemplateReference
from health.model.request_snapshot import RequestSnapshot
from health.runbook.escalation import is_classic, meant_by, short_name
from health.runbook.incident import with_proof
from health.runbook.state import Memory

JUST_BEGUN = timedelta(seconds=30)
"""Two people may order at once to end what they see: the second order must not end what follows it."""


def why_blocked(memory: Memory) -> Refusal | None:
    """The reason by which an incident refuses an order about a step, whatever runs."""
    if memory.is_blocked:
        return Refusal(f"an order stands and needs resume first: {memory.blocking[-1].words}")
    return Refusal("the check is in shadow, so no step is taken") if memory.is_shadow else None


@dataclass(frozen=True)
class RunningStep:
    """The step that runs, by its request."""

    request: RequestSnapshot
    template: TemplateReference
    templates: frozenset[TemplateReference]
    """Its template and those of all steps."""
    is_last: bool

    @property
    def name(self) -> str:
        """The shortest name with its kind that means this step and no other one."""
        return short_name(self.template, self.templates)


def running_step(memory: Memory, observation: Observation, now: datetime) -> RunningStep | Refusal:
    """The step that runs, or why an order would end none."""
    observation = with_proof(memory.complete(observation), memory)
    if refusal := why_blocked(memory):
        return refusal
    if observation.state in ENDED:
        return Refusal(f"no step runs: {observation.reason}")
    if observation.steps and is_classic(observation):
        return Refusal("the check has no escalation, so no step follows")
    if memory.starts_over:
        return Refusal("it starts over by order, which deletes its requests")
    plan, templates = memory.plan(observation), [step.template for step in observation.steps]
    progress = plan.progress(observation.requests, now)
    running = progress.running
    if running is None and progress.next_step is None:
        return Refusal("no step runs, and no template is left to try")
    if running is None:
        name = short_name(templates[progress.next_step or 0], templates)
        # Another actor may have deleted the request.
        if memory.has_acted or progress.over or plan.spent:
            return Refusal(f"no step runs, and {name} is next")
        return Refusal(f"no step was taken yet; {name} is next")
    step, request = plan.step_of(running.reference), running.reference
    # If the check does not list the template, it is the one that the request names.
    template = TemplateReference(
        api_version=request.api_version,
        kind=f"{request.kind}Template",
        namespace=request.namespace,
        name=request.template or request.name,
    )
    template = step.template if step is not None else template
    after = replace(plan, skipped=(*memory.skipped, running.uid)).progress(observation.requests, now)
    return RunningStep(running, template, frozenset({template, *templates}), is_last=after.is_exhausted)


def skipped(memory: Memory, order: OrderRecord, observation: Observation, now: datetime) -> Memory | Refusal:
    """The memory after the running step ended by an order, or why it does not end."""
    running = running_step(memory, observation, now)
    if isinstance(running, Refusal):
        return running
    runs = f"{running.name} runs"
    if not order.step:
        return Refusal(f"an order to skip names the step; {runs}", field="step")
    meant = meant_by(order.step, running.templates)
    if len(meant) > 1:
        return Refusal(f"{order.step!r} names {len(meant)} steps; {runs}", field="step")
    if meant != {running.template}:
        return Refusal(f"the step {order.step!r} does not run; {runs}", field="step")
    if running.is_last:
        return Refusal(f"no step follows {running.name}")
    return replace(memory, skipped=(*memory.skipped, running.request.uid))


def waiting_question(memory: Memory) -> Approval | Refusal:
    """The question that waits for an answer, or why an order would answer none."""
    if refusal := why_blocked(memory):
        return refusal
    approval = memory.approval
    if approval is None:
        return Refusal("no step waits for an approval")
    if approval.answer is ApprovalAnswer.REJECTED:
        return Refusal(f"it needs resume first, which asks again: {approval.words}")
    return approval if approval.answer is None else Refusal(approval.words)


def with_answer(memory: Memory, order: OrderRecord, approval: Approval, answer: ApprovalAnswer) -> Memory:
    """The memory after this order answered the question."""
    words = f"by {order.identity or 'a person'}{f': {order.reason}' if order.reason else ''}"
    return replace(memory, approval=approval.answered(answer, words, order.given))


def answered(memory: Memory, order: OrderRecord, answer: ApprovalAnswer) -> Memory | Refusal:
    """The memory after an order that gives this answer, or why it answers no question."""
    approval = waiting_question(memory)
    if isinstance(approval, Refusal):
        return approval
    if not order.step:
        return Refusal(f"an order to {order.order} names the step; {approval.name} waits", field="step")
    if order.step not in approval.names:
        return Refusal(f"the step {order.step!r} does not wait; {approval.name} does", field="step")
    return with_answer(memory, order, approval, answer)
