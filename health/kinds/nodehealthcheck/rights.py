"""What our processes may have to do for NodeHealthChecks."""

from health.kinds.nodehealthcheck.check import GROUP
from health.kinds.right import Process, Right

RIGHTS = (
    Right(Process.DETECTOR, GROUP, "nodehealthchecks", ("list", "watch")),
    Right(Process.DETECTOR, GROUP, "nodehealthchecks/status", ("patch",)),
    Right(Process.DETECTOR, "", "events", ("create",), "default"),
    Right(Process.WORKER, GROUP, "nodehealthchecks", ("get", "list")),
    Right(Process.WORKER, "", "events", ("create",), "default"),
)
