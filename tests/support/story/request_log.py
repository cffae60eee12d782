"""Records every remediation request that ever existed in a test, in the order of the API server."""

from dataclasses import dataclass

from health.model.remediation_request import TEMPLATE_NAME, RemediationRequest
from kube.record import Change, ChangeKind


@dataclass(frozen=True)
class Entry:
    """The creation or deletion of one request."""

    kind: ChangeKind
    target: str
    uid: str
    template: str = ""


class RequestLog:
    """A watch fills the log; its assertions must hold at every moment."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.latest: dict[str, RemediationRequest] = {}

    def note(self, change: Change[RemediationRequest]) -> None:
        request = change.new or change.old
        assert request is not None
        if change.kind is not ChangeKind.MODIFIED:
            template = request.metadata.annotations.get(TEMPLATE_NAME, "")
            self.entries.append(Entry(change.kind, request.target_name, request.metadata.uid, template))
        if change.new is None:
            self.latest.pop(request.metadata.name, None)
        else:
            self.latest[request.metadata.name] = request

    def created(self, target: str) -> int:
        """How many requests a target ever had."""
        return sum(entry.kind is ChangeKind.ADDED and entry.target == target for entry in self.entries)

    def existing(self, target: str) -> int:
        """How many requests a target has now."""
        return sum(request.target_name == target for request in self.latest.values())

    def assert_never_two_for_one_target(self) -> None:
        """A target must never have two requests of one template at the same time."""
        open_requests: dict[tuple[str, str], int] = {}
        for entry in self.entries:
            step, key = 1 if entry.kind is ChangeKind.ADDED else -1, (entry.target, entry.template)
            open_requests[key] = open_requests.get(key, 0) + step
            assert open_requests[key] <= 1, self.entries
