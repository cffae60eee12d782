"""NHC 2.3 to 2.5: storms, the remediation of one node, and its Lease."""

from tests.conformance.rule import Section

STORM = Section(
    "NHC 2.3/",
    "NHC 2.3: storm recovery, row by row",
    {
        "1": "No storm, threshold holds: new requests are allowed.",
        "2": (
            "No storm, threshold breaks: the storm begins, with a cleared cooldown, and nothing new is "
            "allowed."
        ),
        "3": "Storm, threshold broken: it goes on; a cooldown that ran is cleared and starts again later.",
        "4": "Storm, threshold holds again: the cooldown begins, and nothing new is allowed.",
        "5": "Cooldown not over: nothing new is allowed until it is.",
        "6": "Cooldown over: the storm ends, and requests are allowed at once.",
        "conditions": (
            "Both conditions appear with the first storm, not before, and never without "
            "stormCooldownDuration."
        ),
        "clean-up": "Requests of recovered nodes are deleted during a storm, and others stay.",
    },
)

ONE_NODE = Section(
    "NHC 2.4/",
    "NHC 2.4: the remediation of one node",
    {
        "1": (
            "A control-plane node waits while there is a request for another one; its own request does "
            "not stop it."
        ),
        "1/etcd": (
            "On OpenShift a control-plane node waits unless the one etcd budget allows a disruption, or "
            "its own guard Pod is not ready or not there; elsewhere no budget is asked."
        ),
        "2": "An escalation takes its templates in ascending order, each once.",
        "2/none left": (
            "With no template left nothing more is tried, and the requests stay until the node is healthy."
        ),
        "3": (
            "The request has the template's apiVersion, namespace and contents, and its kind without the "
            "ending Template."
        ),
        "3/name": (
            "The request has the name of its node, or one that begins with it where a template allows "
            "several."
        ),
        "3/owners": (
            "The check owns the request, not as its controller; the Node's Machine does too, in the same "
            "namespace."
        ),
        "4": "A request for the node that exists, even one being deleted, is adopted if this check owns it.",
        "4/foreign": "A request of another owner is left to it, and no second one is made.",
        "5": "A created request is in status, in the gauge and in an Event.",
        "6": "A request that exists is in status also when an earlier status write was lost.",
        "6/timeout": (
            "A step that took longer than its timeout, the last one too, is marked as timed out, and the "
            "next one begins."
        ),
        "6/failed": (
            "A step that reports Succeeded=False is marked as timed out at once, and the next one begins."
        ),
        "6/succeeded": "A step that timed out after Succeeded=True moves on without the annotation.",
        "6/kept": "The request of an earlier step stays until the node is healthy.",
    },
)

LEASE = Section(
    "NHC 2.5/",
    "NHC 2.5: the Lease during a remediation",
    {
        "durations": (
            "A Lease is taken for 10 minutes in a classic remediation, else for the timeout of the step."
        ),
        "obtain/missing": "A Lease that is missing is created.",
        "obtain/ours": (
            "A Lease that is ours is renewed if it would end too early, and keeps its time of acquisition."
        ),
        "obtain/foreign": (
            "A Lease that another holds is respected to its last moment, and no request is created meanwhile."
        ),
        "obtain/expired": "A Lease that has ended is taken over: acquired now, with one transition more.",
        "manage/renew": "While the request exists, the Lease is renewed before it would end.",
        "manage/not ours": "A Lease that is gone or foreign is neither renewed nor made anew.",
        "overdue": (
            "After three durations and the timeouts of the steps before, the Lease is given back and the "
            "request marked as timed out, unless it reports Succeeded=True; in a classic remediation "
            "nothing follows."
        ),
        "release": "The Lease is given back when the last request is gone.",
    },
)

SECTIONS = (STORM, ONE_NODE, LEASE)
