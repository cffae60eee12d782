"""What Paramedic does not take for granted."""

from tests.conformance.rule import Section

TRUST = Section(
    "rule ",
    "Trust",
    {
        "51": (
            "Where a policy is required, a missing one holds every check as PolicyUnknown: deleted, without "
            "its key, blank, and at the first start; when it is back, all goes on without a restart."
        ),
        "53": (
            "A new check emits the Events of targets that were unhealthy before it existed; a restart "
            "repeats none."
        ),
    },
)

SECTIONS = (TRUST,)
