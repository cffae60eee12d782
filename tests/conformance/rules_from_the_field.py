"""Rules that users of the reference controllers asked for, and that win over what those controllers do."""

from tests.conformance.rule import Section

FIELD = Section(
    "rule ",
    "From the field",
    {
        "56": (
            "A failure begins at its lastTransitionTime, but not before the last look that showed another "
            "status, and not after the first look that showed this one; without a time, at that look."
        ),
        "57": "A new lastTransitionTime on the same status restarts no timer; another status does.",
        "58": (
            "Time in which no detector led, or in which the connection to a workload cluster was lost, "
            "restarts the timers of shorter durations; a shorter time changes no deadline."
        ),
    },
)

SECTIONS = (FIELD,)
