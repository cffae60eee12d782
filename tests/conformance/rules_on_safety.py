"""Rules 1 to 16: where Paramedic decides for itself, for every kind of check."""

from tests.conformance.rule import Section

SAFETY = Section(
    "rule ",
    "Rules 1 to 8: acting and holding",
    {
        "1": (
            "Each target waits by a durable timer of its own; no restart and no other target moves its "
            "deadline."
        ),
        "2": (
            "An act first reads the live target, check and template, and does nothing, with a reason, "
            "unless all is as it was judged."
        ),
        "2/preconditions": "A delete names the uid and resourceVersion that it was decided on.",
        "3": "Whatever is stale or unreadable holds, with a visible reason.",
        "4": (
            "The threshold is decided at the moment of acting, on numbers at most 5 s old, by the one "
            "function that status shows too."
        ),
        "5": "A maxUnhealthy above the number of targets allows remediation.",
        "6": (
            "A blocked incident does not poll, and one Event and one change of a condition on the check "
            "report the block, for any number of targets."
        ),
        "6/writes": "Status is written only when something published changes, at most twice a second.",
        "6/heartbeat": "A heartbeat causes no write and no message to a workflow.",
        "7": (
            "Pause requests, an upgrade, a storm, a broken threshold or template stop new requests and "
            "next steps only."
        ),
        "7/clean-up": "Recovered targets are cleaned up while the check is held.",
        "7/lease": "Leases are renewed while the check is held.",
        "7/timed out": "Requests are marked as timed out while the check is held.",
        "8": (
            "A check or template that cannot be read affects its check alone, and is reported with field "
            "and value."
        ),
        "8/node": "A Node that cannot be read affects itself alone.",
        "8/incident": ("An incident that cannot be judged is held with the reason Failed; the others go on."),
        "8/wire": (
            "Whatever stands in a field of an object is read, or refused by the field: no time, number or "
            "text ends a process or stops a workflow."
        ),
        "8/workflow": (
            "A Remediation that a person started by hand, without memo or with strange search attributes, "
            "stops no detector and no command."
        ),
    },
)

LIFE = Section(
    "rule ",
    "Rules 9 to 16: targets, checks, attempts",
    {
        "9": (
            "Name, uid and start in status are those of the request that exists, also after it was made anew."
        ),
        "10": (
            "A target that leaves the selector, or whose check is deleted, is released: request and Lease go."
        ),
        "10/at start": "A detector that starts notices targets that were released while none ran.",
        "10/edit": (
            "An edited duration moves running deadlines, counted from the same condition time; an edited "
            "healthyDelay or step timeout counts from its own start."
        ),
        "10/steps": (
            "After an edit of the list a running step keeps its request, and the next one is of the new list."
        ),
        "11": "A target that is deleted in whatever phase leaves status, Lease, metrics and workflow clean.",
        "11/recreated": (
            "A target of the same name is a new one, with a new clock and a new incident; a request of "
            "the earlier one that still exists holds it."
        ),
        "12": "A target that is unhealthy when the detector starts, or when it is created, is noticed.",
        "13": (
            "The first check that holds a target keeps it; another waits, names the holder and creates "
            "nothing."
        ),
        "13/blocked": "A check that is itself blocked holds no target.",
        "13/overdue": (
            "A check that waits goes on when an overdue classic remediation of the other has given its "
            "Lease back, not before."
        ),
        "14": (
            "A remediation that follows an earlier one of the same target waits none, 1, 2, 4, … minutes; "
            "targets that fail side by side do not wait."
        ),
        "14/deleted request": (
            "A request that another actor deleted while its target is unhealthy counts as an attempt."
        ),
        "14/event": "An Event says once, for each remediation in a row, when it is due.",
        "14/limit": "The wait has a limit, 30 minutes by default, and 0 turns back-off off.",
        "14/reset": "A healthy period as long as the limit resets the count.",
        "15": "An Event is emitted once per transition, over restarts too.",
        "16": "A metric series ends with its object.",
    },
)

ADMISSIONS = Section(
    "rule ",
    "Rule 49: admissions and their slots",
    {
        "49": (
            "Where a limit applies, an admission carries a reservation, and is valid only for the question "
            "that asked for it; no step is taken without one."
        ),
        "49/act": "An act refuses a step whose slot was reserved under other limits than bear now.",
        "49/versions": "An older worker beside a newer detector holds, and so does the reverse.",
    },
)

SECTIONS = (SAFETY, LIFE, ADMISSIONS)
