"""Links: where else to look at an incident: the Temporal UI, if we are told where it is, and kubectl."""

from urllib.parse import quote, urlsplit

import typer

from cli.incident_sight import IncidentSight
from health.kinds.registry import CHECK_KINDS
from health.model.references import RequestReference


def http_address(text: str) -> str:
    """A parser of the address of the Temporal UI.

    Raises:
        BadParameter: it is no address of a page.

    """
    try:
        parts = urlsplit(text)
    except ValueError as error:  # "[" without "]"
        raise typer.BadParameter(f"{text!r} is no address: {error}") from error
    if parts.scheme not in ("http", "https") or not parts.hostname or any(map(str.isspace, text)):
        raise typer.BadParameter(f"{text!r} must be an address such as http://127.0.0.1:8233")
    return text


def ui_link(ui: str, namespace: str, sight: IncidentSight) -> str:
    """The page of the workflow; `ui` is the address of the Temporal UI."""
    workflow = quote(sight.incident.workflow_id, safe="")
    return f"{ui.rstrip('/')}/namespaces/{quote(namespace)}/workflows/{workflow}/{sight.run_id}/history"


def kubectl_lines(sight: IncidentSight) -> list[str]:
    """Commands that show what the incident is about."""
    check, target = sight.incident.check, sight.incident.target
    kind = CHECK_KINDS.get(check.kind)
    resource = kind.plural if kind else check.kind.lower()
    requests = sight.state.requests if sight.state else ()
    return [
        f"kubectl describe {target.kind.lower()}{_in(target.namespace)} {target.name}",
        f"kubectl get {resource}{_in(check.namespace)} {check.name} -o yaml",
        *(_request_line(request.reference) for request in requests),
    ]


def _request_line(request: RequestReference) -> str:
    group, _, version = request.api_version.rpartition("/")
    resource = ".".join(part for part in (request.kind.lower(), version, group) if part)
    return f"kubectl get {resource}{_in(request.namespace)} {request.name} -o yaml"


def _in(namespace: str) -> str:
    return f" -n {namespace}" if namespace else ""
