"""Sends a check or policy from a file to the leader, and shows the decisions now beside those under it.

The API server is asked for the defaults of a check by a dry run, which stores nothing.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from cli.inspection.explanation import message, title
from cli.policy import NAMES_NO_FIELD, fields_in, policy_in, read_file
from cli.shared.errors import UsageError
from cli.shared.leader import ask, reading_settings
from cli.shared.options import ClusterChoice
from cli.shared.terminal import table_of
from health.kinds.check_manifest import CheckManifest, ManifestError, mapping_at
from health.kinds.right import Process, Right
from health.model.invalid_check import InvalidCheckError
from health.policy.policy import InvalidPolicyError, Policy
from kube.client import Client
from kube.errors import Forbidden, RequestRefused
from kube.resource import Resource
from runtime.rights import is_allowed
from workflows.inspection_contracts import SIMULATE, SimulatedCheckAnswer, SimulateInput, SimulationAnswer

NOTHING = "nothing"
_AFTER_THE_NAME = re.compile(r"^.*? is invalid: ", re.DOTALL)
"""The request, and the name that the dry run generates."""
_KEPT = ("name", "namespace", "labels", "annotations")


class SimulationView(SimulationAnswer):
    """The answer of the leader, with what the command knows of the file; the fields are its JSON."""

    has_defaults: bool = True
    """True if the API server has filled in the defaults of a simulated check."""
    warning: str | None = None
    """The simulated policy names no field, so the defaults are simulated."""


@dataclass(frozen=True)
class SimulatedPolicy:
    """The policy in a file, as its text and as the parser reads it."""

    text: str
    policy: Policy


def read_simulated(file: str) -> CheckManifest | SimulatedPolicy:
    """The check or the policy in the file; - is standard input.

    Raises:
        UsageError: the file cannot be read, or is neither; names the field and its value.

    """
    try:
        text = read_file(file)
        content = fields_in(text)
        if "kind" in content and content["kind"] != "ConfigMap":
            return CheckManifest.of(content)
        return SimulatedPolicy(*policy_in(text))
    except (InvalidPolicyError, ManifestError, UsageError) as error:
        raise UsageError(f"{file}: {error}") from error


async def simulation(choice: ClusterChoice, file: str) -> SimulationView:
    """The decisions now and under the check or policy in `file`.

    Raises:
        CommandError: the file is not valid, or no leader answers.

    """
    simulated, has_defaults, warning = read_simulated(file), True, None
    if isinstance(simulated, SimulatedPolicy):
        question = SimulateInput(text=simulated.text, is_policy=True)
        if not simulated.policy.model_fields_set:
            warning = f"the defaults are simulated: {file} {NAMES_NO_FIELD}"
    else:
        async with reading_settings(choice) as (_, _, management):
            body, has_defaults = await with_defaults(management.client, simulated, file)
        question = SimulateInput(text=json.dumps(body))
    try:
        answer = await ask(choice, SIMULATE, question, SimulationAnswer, shown=None)
    except UsageError as error:
        raise UsageError(f"{file}: {error}") from error
    return SimulationView(**dict(answer), has_defaults=has_defaults, warning=warning)


async def with_defaults(
    client: Client, simulated: CheckManifest, file: str
) -> tuple[Mapping[str, Any], bool]:
    """The check with the defaults of its CustomResourceDefinition, if the user may create checks.

    Raises:
        UsageError: the API server, or an admission plugin, refuses the check.
        KubernetesError: the API server cannot be asked.

    """
    kind, reference, body = simulated.kind, simulated.reference, simulated.body
    metadata = {key: value for key, value in mapping_at(body, "metadata").items() if key in _KEPT}
    version = str(body["apiVersion"])
    plain = {"apiVersion": version, "kind": kind.kind, "metadata": metadata}
    unnamed = {key: value for key, value in metadata.items() if key != "name"}
    dry_run = {**body, "metadata": {**unnamed, "generateName": "simulated-"}}
    resource = Resource(version, kind.kind, kind.plural, namespaced=kind.is_namespaced)
    try:
        found = await client.with_defaults(resource, dry_run, reference.namespace)
    except RequestRefused as error:
        if isinstance(error, Forbidden):  # a right is missing, or an admission plugin refuses
            create = Right(
                process=Process.DETECTOR,  # of no meaning here: the user is asked about
                group=kind.group,
                resource=kind.plural,
                verbs=("create",),
                namespace=reference.namespace,
            )
            if not await is_allowed(client, create, "create"):
                return {**plain, "spec": mapping_at(body, "spec")}, False
        raise UsageError(f"{file}: {refusal(simulated, error)}") from error
    return {**plain, "spec": found.get("spec") or {}}, True


def refusal(simulated: CheckManifest, error: RequestRefused) -> str:
    """The first field that Paramedic refuses too; else the fields in the words of the API server."""
    metadata = {
        "uid": "",
        "creationTimestamp": "2026-01-01T00:00:00Z",
        **mapping_at(simulated.body, "metadata"),
    }
    try:
        simulated.kind.parse({**simulated.body, "metadata": metadata})
    except InvalidCheckError as invalid:
        return str(invalid)
    fields = _AFTER_THE_NAME.sub("", error.message).rstrip(".")
    return f"the API server refuses {simulated.reference}: {fields}"


def simulation_page(view: SimulationView) -> RenderableType:
    """The checks one after the other, each with a table of its targets."""
    parts: list[RenderableType] = []
    for check in view.checks:
        parts += [*map(Text, _headlines(check)), _table(check, view), Text()]
    return Group(*parts)


def _headlines(check: SimulatedCheckAnswer) -> Iterator[str]:
    if check.problem:
        yield f"{check.check}: invalid: {check.problem}"
        return
    numbers = check.threshold.words if check.threshold else "its threshold is unknown"
    yield f"{check.check}: {check.selected} selected, {numbers}"
    for hold in check.holds:
        yield f"  holds all: {hold.words}"


def _table(check: SimulatedCheckAnswer, view: SimulationView) -> RenderableType:
    before, after = ({each.target: each for each in found} for found in (check.now, check.simulated))
    if not before and not after:
        return Text("" if check.problem else "  no target is unhealthy")
    table = table_of(("TARGET", "NOW", "SIMULATED", "WHY"))
    for target in sorted(before.keys() | after.keys()):
        now, simulated = before.get(target), after.get(target)
        decided, is_now = (NOTHING if each is None else title(each) for each in (simulated, now))
        decides = simulated or now
        why = Text(message(decides, view.at) if decides else "")
        style = "bold" if decided != is_now else ""
        table.add_row(target.rpartition("/")[2], is_now, Text(decided, style=style), why)
    return table
