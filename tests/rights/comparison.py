"""The roles in `deploy/` against what our processes asked for in a run: nothing missing, nothing unused.

In any run, no process may ask for more than the table. In a run of all tests, each row must be used.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from health.kinds.registry import CHECK_KINDS
from health.kinds.right import Process, Right
from runtime.rights import REMEDIATOR, WATCH, needs_for_requests, needs_for_secret
from tests.end_to_end.third_kind.check import GROUP as MADE_UP
from tests.rights.calls import Call, Use, all_uses, calls, uses
from tests.support.values.rights import of_installations

UNUSED: dict[str, str] = {}
"""Verbs of rows that no test takes, each with the reason why they are granted all the same."""
ROWS = tuple(of_installations())
GROUPS = {right.group for right in ROWS}
SECRETS_OF = [kind.kubeconfig_roles for kind in CHECK_KINDS.values() if kind.kubeconfig is not None]


def problems(audit_logs: Iterable[Path], *, is_whole_run: bool) -> list[str]:
    asked = {call for log in audit_logs for call in calls(log)}
    beyond = [f"{call}: no role of deploy/ grants it" for call in asked if not _is_in_table(call)]
    return sorted(beyond) + (sorted(_unused(asked)) if is_whole_run else [])


def _is_in_table(call: Call) -> bool:
    return call.group == MADE_UP or bool(uses(call, (*ROWS, *_of_others(call))))


def _of_others(call: Call) -> Iterator[Right]:
    """The rights of the table on objects whose names are not fixed by us."""
    if call.resource == "secrets" and call.name.endswith("-kubeconfig"):
        for part in SECRETS_OF:
            yield from needs_for_secret(part, call.namespace, call.name)
    if call.group in GROUPS:
        return
    if call.resource.endswith("templates"):
        yield from needs_for_requests(call.group, call.resource, "")
        # Few remediators grant it: without it each template is read every 15 seconds.
        process, group, resource = Process.DETECTOR, call.group, call.resource
        yield Right(process=process, group=group, resource=resource, verbs=WATCH, granted_by=REMEDIATOR)
    else:
        yield from needs_for_requests(call.group, "", call.resource)


def _unused(asked: Iterable[Call]) -> Iterator[str]:
    taken: set[Use] = {use for call in asked for use in uses(call, ROWS)}
    unused = {str(use) for use in all_uses(ROWS) - taken}
    for use in unused - UNUSED.keys():
        yield f"{use}: no test needs it"
    for use in UNUSED.keys() - unused:
        yield f"{use}: it is said to be unused, and is not"
