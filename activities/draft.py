"""Draft: the request of one step, from the live template and what the kind of check adds to it."""

from collections.abc import Awaitable, Callable, Mapping
from typing import cast

from activities.held import Held
from activities.machine_step import attempt_of, machine_of
from activities.node_machine import NodeMachines
from activities.revalidation import Confirmed
from health.kinds.nodehealthcheck.kind import NODE_HEALTH_CHECK
from health.kinds.openshift import remediation_request as of_machine
from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK
from health.model.node import Node
from health.model.observation import HoldReason
from health.model.references import TemplateReference
from health.model.remediation_request import InvalidTemplateError, new_request
from kube.client import Client
from kube.discovery import Discovery
from kube.errors import KindUnknown, NotFound
from kube.resource import Object
from kube.shared_reads import SharedReads
from objects.group_kind import GroupKind
from workflows.contracts import ActInput

ASK_AGAIN_SECONDS = 15.0
"""A template that is not there: as its operator requeues; the detector wakes the incident earlier."""


class Drafts:
    """Reads what requests are made from."""

    def __init__(self, client: Client, discovery: Discovery, shared: SharedReads) -> None:
        self._discovery = discovery
        self._shared = shared
        self._machines = NodeMachines(client, discovery)
        self._of_kind: Mapping[GroupKind, Callable[[ActInput, Confirmed, Object], Awaitable[Object]]] = {
            NODE_HEALTH_CHECK.group_kind: self._for_node,
            MACHINE_HEALTH_CHECK.group_kind: _for_machine,
        }

    async def template(self, reference: TemplateReference) -> Object:
        """The live template.

        Raises:
            Held: it is not there.
            KubernetesError: the API server could not be asked.

        """
        try:
            resource = await self._discovery.resource(reference.api_version, reference.kind)
            return await self._shared.get(resource, reference.name, reference.namespace)
        except NotFound as error:
            if isinstance(error, KindUnknown):  # what is remembered of it is old
                self._discovery.forget(reference.api_version)
            raise _unusable(f'Remediation template not found: "{error.message}"') from error

    async def request(self, asked: ActInput, confirmed: Confirmed, template: Object) -> Object:
        """The request to be created.

        Raises:
            Held: the template can't be used.
            KubernetesError: the API server could not be asked.

        """
        try:
            return await self._of_kind[asked.incident.check.group_kind](asked, confirmed, template)
        except InvalidTemplateError as error:
            raise _unusable(f'Remediation template is invalid: "{error}"') from error

    async def _for_node(self, asked: ActInput, confirmed: Confirmed, template: Object) -> Object:
        node = cast("Node", confirmed.target)
        machine = await self._machines.owner(node, asked.step.template)
        return new_request(
            attempt_of(asked),
            asked.step,
            template=template,
            check=confirmed.owner,
            machine=machine,
            node=node,
        )


async def _for_machine(asked: ActInput, confirmed: Confirmed, template: Object) -> Object:
    machine = machine_of(confirmed).machine
    return of_machine.new_request(attempt_of(asked), asked.step, template=template, machine=machine)


def _unusable(message: str) -> Held:
    return Held.because(HoldReason.TEMPLATE, message, ask_again_seconds=ASK_AGAIN_SECONDS)
