"""NHC 2.6 to 2.8: delays after a recovery, what comes and goes, and checks that overlap."""

from tests.conformance.rule import Section

DELAY = Section(
    "NHC 2.6/",
    "NHC 2.6: healthyDelay",
    {
        "none": "Without a delay, or with one of zero, requests are deleted at once after the recovery.",
        "negative": "With a negative delay requests are never deleted by themselves.",
        "positive": "With a positive delay each request is stamped, and deleted when the delay is over.",
        "edited": "An edit of the delay takes effect on one that runs.",
        "unreadable": "A stamp that cannot be read does not keep a request.",
        "confirmed": (
            "manually-confirmed-healthy ends any delay; it is removed when the requests are gone, and "
            "only then the Lease and the entry in status."
        ),
    },
)

LIFE = Section(
    "NHC 2.7/",
    "NHC 2.7: what comes and goes",
    {
        "node deleted": "The request of a deleted node is deleted, its Lease released, its entry dropped.",
        "entry without request": "The entry of a deleted node without a request is dropped.",
        "node recreated": "A node that comes back under its name is judged as a new one.",
        "check deleted": "The webhook, where it is installed, refuses to delete a check with a request.",
        "check deleted by force": (
            "A check that is gone all the same leaves neither request nor Lease behind."
        ),
        "check edited": "An edit of an allowed field takes effect at once.",
        "template deleted": (
            "A template that is deleted during a remediation disables the check until it is back."
        ),
        "template edited": "Edited contents of a template are used for new requests only.",
        "finalizer": (
            "A request that a finalizer keeps counts until it is gone; the next control-plane node waits."
        ),
        "Succeeded": (
            "A node that stays unhealthy after Succeeded=True is treated as before; its step still times out."
        ),
        "restart": "A restart of any process loses nothing.",
    },
)

OVERLAP = Section(
    "NHC 2.8/",
    "NHC 2.8: two checks over one node",
    {
        "same template": "The second check creates nothing, and lists the node without a request.",
        "other kind": "The Lease holds the second check, which reports the hold.",
        "deletion": "Each check deletes the requests that it owns, and no other.",
        "overdue": "When the Lease of the first is overdue, the second goes on with its own template.",
        "thresholds": "Each check has its own numbers and its own threshold.",
    },
)

SECTIONS = (DELAY, LIFE, OVERLAP)
