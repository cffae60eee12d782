"""NHC 2.0 to 2.2: what is noticed, in which order it is judged, and how many must be healthy."""

from tests.conformance.rule import Section

TRIGGERS = Section(
    "NHC 2.0/",
    "NHC 2.0: what is noticed at once",
    {
        "check": "A check that is created, deleted or edited.",
        "node conditions": "A Node condition whose status changes, appears or goes.",
        "node exclude label": "An exclude label that is added, removed or changed.",
        "node selector label": "A label that brings a Node into a selector or out of it.",
        "node confirmed healthy": "A manually-confirmed-healthy annotation that is added or removed.",
        "node heartbeat": "A heartbeat, or another reason or message of a condition, is no change.",
        "node deleted": "A Node that is deleted.",
        "request": "A request that changes or is deleted, of kinds too that became known after the start.",
        "template": "A template that changes, goes or comes back.",
        "MachineHealthChecks": "A conflict with MachineHealthChecks that begins or ends.",
        "deadline": (
            "Each wait ends by itself at its own deadline, and a failed attempt is repeated with back-off."
        ),
    },
)

STEPS = Section(
    "NHC 2.1/",
    "NHC 2.1: the steps, in order",
    {
        "1": "A check that is gone is not judged any more, and its open incidents end.",
        "2": "The namespace of the Leases is created if it is missing.",
        "3": "Status is published after every judgement, whatever its result.",
        "4": (
            "A MachineHealthCheck other than a single one for the condition Terminating disables all "
            "checks, and with that single one Nodes that are terminating count as healthy."
        ),
        "5": (
            "A template that is missing, has no contents, or is a Metal3 one elsewhere disables the "
            "check; of an escalation the first bad one counts, and one that is back is noticed within "
            "seconds."
        ),
        "6": "A check whose trouble is over is enabled again.",
        "7": "Requests of every kind that a template makes are watched.",
        "8": "The nodes of a check are those that its selector matches now.",
        "9": (
            "A condition that the node has expires strictly after its duration; one expired condition "
            "makes a node unhealthy, else the earliest deadline runs."
        ),
        "10": (
            "On OpenShift an upgrade, by a ClusterVersion that progresses or by a MachineConfig of an "
            "unhealthy node that changes, holds new requests; elsewhere there is none."
        ),
        "11": "Pause requests hold new requests.",
        "12": "A request whose node is not selected any more is deleted and its Lease released.",
        "12/PermanentNodeDeletionExpected": (
            "A request that expects the deletion of its node is kept until it reports Succeeded=True."
        ),
        "13": (
            "The requests of a healthy node are deleted, and it counts as healthy when all are really gone."
        ),
        "13/timer runs": "A node on which only a timer runs keeps its requests.",
        "14": "Numbers count all selected nodes, whatever their state.",
        "15": "Fewer healthy nodes than required hold new requests.",
        "16": "Storm recovery is judged after the threshold, and also while no node is unhealthy.",
        "17": (
            "Each unhealthy node is listed, and is remediated unless the check holds or its label "
            "excludes it."
        ),
        "17/48 h": "A request older than 48 h is flagged and counted once.",
    },
)

THRESHOLD = Section(
    "NHC 2.2/",
    "NHC 2.2: the threshold",
    {
        "minHealthy": (
            "minHealthy requires that number of healthy nodes, or that share of the total, rounded up."
        ),
        "maxUnhealthy": (
            "maxUnhealthy requires the total less that number, or less that share of the total, rounded up."
        ),
        "boundary": "Exactly as many healthy nodes as required are enough.",
        "unusable": (
            "A stored check with both thresholds, none, or a negative one is Disabled and never acts."
        ),
        "timer runs": "A node on which a timer runs does not count as healthy.",
        "request left": "A recovered node whose request still exists does not count as healthy.",
        "concurrency": "The threshold is no limit on how many nodes are remediated at once.",
        "existing requests": "Requests that exist are not deleted when the threshold breaks.",
    },
)

SECTIONS = (TRIGGERS, STEPS, THRESHOLD)
