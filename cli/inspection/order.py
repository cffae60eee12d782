"""Writes a person's order to remediate on a target, with the rights of the user (ADR 51).

The leader says first whether it would refuse the order, and what holds it now.
"""

from datetime import timedelta
from functools import partial

from cli.shared.errors import CommandError, NotFoundError
from cli.shared.leader import ask, reading_settings
from cli.shared.options import ClusterChoice
from health.kinds.registry import CHECK_KINDS
from health.model.references import is_called
from health.model.remediation_order import REMEDIATE, RemediationOrder, order_in
from kube.errors import KubernetesError, NotFound
from kube.resource import Object
from kube.retry_on_conflict import ObjectIdentity, patch_as_read
from objects.durations import in_words
from objects.timestamps import stamp
from workflows.inspection_contracts import PREVIEW_ORDER, OrderPreview, PreviewOrderInput

USER_AGENT = "paramedic-remediate"
"""Names the order in the audit log of the API server."""


async def order_remediation(choice: ClusterChoice, wanted: PreviewOrderInput) -> str:
    """Order the remediation, unless the leader refuses it. Returns the sentence to print.

    Raises:
        CommandError: it is refused, nothing has that name, no leader answers, or nothing can be written.

    """
    preview = await ask(choice, PREVIEW_ORDER, wanted, OrderPreview, shown=None)
    target, duration = preview.target, timedelta(seconds=wanted.duration_seconds)
    if preview.refused is not None:
        raise CommandError(f"{preview.check}: {target} is not remediated: {preview.refused}")
    # A writer of the Temporal namespace can forge the answer, so all that matters is from the user.
    order = RemediationOrder(
        check=preview.order.check,
        reason=wanted.reason,
        identity=wanted.identity,
        given=preview.order.given,
        until=preview.order.given + duration,
        boot_id=preview.order.boot_id,
        is_forced=wanted.is_forced,
    )
    try:
        async with reading_settings(choice, USER_AGENT) as (_, _, management):
            resource = await management.discovery.first_served(CHECK_KINDS[preview.check.group_kind].targets)
            identity = ObjectIdentity(resource, target.namespace, target.name, target.uid)
            written = await patch_as_read(
                management.client, identity, partial(annotation, wanted, preview, order)
            )
    except NotFound as error:
        raise NotFoundError(f"{target} is gone") from error
    except KubernetesError as error:
        raise CommandError(f"{target} cannot be annotated: {error.message.rstrip('.')}") from error
    if written is None:
        raise NotFoundError(f"{target} has another uid now")
    waits = f"held now: {preview.waits_for}" if preview.waits_for else "nothing holds it now"
    return (
        f"{preview.cluster}: {preview.check.name}/{target.name}: its remediation is ordered "
        f"until {stamp(order.until)} (in {in_words(duration)}), unless it boots before; {waits}"
    )


def annotation(
    wanted: PreviewOrderInput, preview: OrderPreview, order: RemediationOrder, found: Object
) -> Object:
    """The patch with the order for the object that was just read.

    Raises:
        CommandError: another order stands, or the answer is about another target or check than named.

    """
    node = ((found.get("status") or {}).get("nodeRef") or {}).get("name")
    is_meant = wanted.target.rpartition("/")[2] in (found["metadata"]["name"], node)
    if not is_meant or not is_called(wanted.check, preview.check):
        raise CommandError(f"nothing was written: the answer is about {preview.target} of {preview.check}")
    earlier = order_in((found["metadata"].get("annotations") or {}).get(REMEDIATE, ""))
    if earlier is not None and earlier.stands_beside(order):
        raise CommandError(f"another order stands until {stamp(earlier.until)}: {earlier.words}")
    return {"metadata": {"annotations": {REMEDIATE: order.model_dump_json(exclude_defaults=True)}}}
