"""A check that escalates over several templates, and its requests."""

from datetime import UTC, datetime
from typing import Any

from health.model.remediation_request import NODE_NAME, TEMPLATE_NAME, TIMED_OUT
from kube.record import ChangeKind
from kube.resource import Object
from tests.support.story.world import REQUESTS, World


class Escalation:
    """The steps of one world, each named by the suffix of its template."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def add(self, *steps: str, each: str = "1h", **spec: Any) -> None:
        """Add the templates and a check that tries them in this order, with timeout `each`."""
        for step in steps:
            await self._world.add_template(step, multiple=True)
        await self._world.add_check(escalatingRemediations=self.steps(*steps, each=each), **spec)

    def steps(self, *steps: str, each: str = "1h") -> list[Object]:
        """The entries of a check for these steps; they are stored in reverse order."""
        return [
            {"remediationTemplate": self._world.template(step), "order": 10 * number, "timeout": each}
            for number, step in reversed(list(enumerate(steps)))
        ]

    async def requests(self, node: str) -> dict[str, Object]:
        """The requests of a node, by step."""
        return {
            self._suffix(request["metadata"]["annotations"][TEMPLATE_NAME]): request
            for request in await self._world.client.list(REQUESTS, "default")
            if request["metadata"]["annotations"].get(NODE_NAME) == node
        }

    def taken(self, node: str) -> list[str]:
        """Every step for which the node ever had a request, in the order of the API server."""
        entries = self._world.requests.entries
        return [self._suffix(e.template) for e in entries if e.target == node and e.kind is ChangeKind.ADDED]

    async def until_steps(self, node: str, *steps: str) -> dict[str, Object]:
        """Wait until a node has the requests of exactly these steps, and return them."""

        async def are_there() -> bool:
            return set(await self.requests(node)) == set(steps)

        await self._world.until(are_there, f"{node} never had requests of the steps {steps}")
        return await self.requests(node)

    async def until_timed_out(self, node: str, step: str) -> Object:
        """Wait until the request of a step is marked as timed out, and return it."""

        async def is_reported() -> bool:
            return timed_out(await self.request(node, step)) != ""

        await self._world.until(is_reported, f"the step {step} of {node} never timed out")
        return await self.request(node, step)

    async def request(self, node: str, step: str) -> Object:
        return (await self.requests(node))[step]

    async def report(self, node: str, step: str, succeeded: str) -> None:
        """Set the Succeeded condition of a step's request, as its remediator does."""
        name = (await self.request(node, step))["metadata"]["name"]
        await self._world.client.merge_patch(
            REQUESTS, name, reported(succeeded), "default", subresource="status"
        )

    async def in_status(self, node: str) -> dict[str, Object]:
        """The entries in the status of the check for a node's requests, by step."""
        nodes = (await self._world.status()).get("unhealthyNodes", ())
        entries = [entry for one in nodes if one["name"] == node for entry in one.get("remediations", ())]
        return {self._suffix(entry["templateName"]): entry for entry in entries}

    async def until_in_status(
        self, node: str, *, over: tuple[str, ...] = (), running: tuple[str, ...] = ()
    ) -> None:
        """Wait until the status lists the requests of these steps, those in `over` as timed out."""
        wanted = dict.fromkeys(over, True) | dict.fromkeys(running, False)

        async def is_so() -> bool:
            told, requests = await self.in_status(node), await self.requests(node)
            is_true = all(step in requests and _is_of(entry, requests[step]) for step, entry in told.items())
            return is_true and {step: "timedOut" in entry for step, entry in told.items()} == wanted

        await self._world.until(is_so, f"the status never had {over} over and {running} running")

    async def until_told_once(self, node: str) -> None:
        """Wait for exactly one Event that no template is left."""
        message = (
            "[remediation] Remediation timed out, and no template left to try. "
            f"didn't find a template to use for NHC {self._world.name} and node {node}"
        )

        async def is_reported() -> bool:
            return ("Warning", "NoTemplateLeft", message) in await self._world.events()

        await self._world.until(is_reported, "no Event says that no template is left")
        assert (await self._world.events()).count(("Warning", "NoTemplateLeft", message)) == 1

    def _suffix(self, template: str) -> str:
        return template.removeprefix(f"{self._world.name}-")


def reported(succeeded: str) -> Object:
    """The status that a remediator writes: the condition Succeeded, "True" or "False", as of now."""
    condition = {
        "type": "Succeeded",
        "status": succeeded,
        "lastTransitionTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "reason": "Test",
        "message": "",
    }
    return {"status": {"conditions": [condition]}}


def created(request: Object) -> datetime:
    return datetime.fromisoformat(request["metadata"]["creationTimestamp"])


def timed_out(request: Object) -> str:
    """When the request was marked as timed out; "" if it was not."""
    return str(request["metadata"]["annotations"].get(TIMED_OUT, ""))


def _is_of(entry: Object, request: Object) -> bool:
    """An entry of the status belongs to a request if it has the request's uid."""
    metadata, resource = request["metadata"], entry["resource"]
    told = (resource["name"], resource["uid"], entry["started"])
    return told == (metadata["name"], metadata["uid"], metadata["creationTimestamp"])
