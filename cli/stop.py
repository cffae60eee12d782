"""`paramedic stop` and `paramedic start`: the global stop, set with the caller's own rights (rule 42).

It is an annotation in the cluster, so it works while Temporal is down.
"""

from collections.abc import Mapping
from typing import Annotated

import typer

from cli.incidents.orders import reason_of
from cli.shared.errors import carry_out
from cli.shared.options import LeaseNamespace, OfContext
from runtime.settings import LEASE_NAMESPACE, LEASE_NAMESPACE_VARIABLE


def stop(
    context: typer.Context,
    *,
    reason: Annotated[str | None, reason_of("The reason, shown with every hold by the stop.")] = None,
    namespace: LeaseNamespace = None,
    kubeconfig_context: OfContext = None,
) -> None:
    """Stop everything new in a whole cluster.

    It works also while Temporal is down. Existing requests continue.
    """
    # Imported here, because few commands need Kubernetes, and the time to load it.
    from cli.global_stop import order_stop  # noqa: PLC0415  see above

    where = _namespace(context.obj, namespace)
    typer.echo(carry_out(order_stop(kubeconfig_context, where, reason)))


def start(
    context: typer.Context, *, namespace: LeaseNamespace = None, kubeconfig_context: OfContext = None
) -> None:
    """End the stop of a whole cluster."""
    from cli.global_stop import lift_stop  # noqa: PLC0415  as above

    typer.echo(carry_out(lift_stop(kubeconfig_context, _namespace(context.obj, namespace))))


def _namespace(environment: Mapping[str, str], option: str | None) -> str:
    return option or environment.get(LEASE_NAMESPACE_VARIABLE) or LEASE_NAMESPACE
