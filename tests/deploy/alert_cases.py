"""The series of each alert: values at which it fires, and values at which it does not.

Values are in promtool's notation, one each minute: `1+0x20` is 1 for 20 minutes.
"""

from dataclasses import dataclass, field

HEARTBEAT = "kube_paramedicstatus_heartbeat_timestamp_seconds"
STATUS = '{namespace="n",name="paramedic"}'
CHECK = "nodehealthchecks.remediation.medik8s.io/workers"


@dataclass(frozen=True, kw_only=True)
class AlertCase:
    """Series of one alert that make it fire at a time, and others that do not."""

    fires: dict[str, str]
    at: str = "20m"
    labels: dict[str, str] = field(default_factory=dict)
    """The labels of the alert, without those of its rule."""
    value: str = "1"
    """The value, as its description writes it."""
    quiet: dict[str, str]
    """Series at which it does not fire at the same time."""


def _incidents(phase: str, fires: str, quiet: str, *, at: str = "20m") -> AlertCase:
    series = f'paramedic_open_incidents{{check="{CHECK}",phase="{phase}"}}'
    other = f'paramedic_open_incidents{{check="{CHECK}",phase="Waiting"}}'
    return AlertCase(
        fires={series: fires},
        at=at,
        labels={"check": CHECK},
        value="2",
        quiet={series: quiet, other: "9+0x2000"},
    )


def _holds(reason: str, other: str, *, at: str) -> AlertCase:
    return AlertCase(
        fires=_held(reason) | _held(reason, "manual"),
        at=at,
        labels={"check": CHECK, "reason": reason},
        value="3",
        quiet=_held(other) | _held(reason, "manual"),
    )


def _held(reason: str, trigger: str = "automated") -> dict[str, str]:
    return {f'paramedic_holds{{check="{CHECK}",reason="{reason}",trigger="{trigger}"}}': "3+0x2000"}


def _condition(condition: str, values: str) -> dict[str, str]:
    labels = f'condition="{condition}",status="False",namespace="n",name="paramedic"'
    return {f"kube_paramedicstatus_condition{{{labels}}}": values}


CASES = {
    "ParamedicInternalError": AlertCase(
        fires={'paramedic_internal_errors_total{part="answer",instance="d"}': "0+0x10 1+0x10"},
        labels={"part": "answer", "instance": "d"},
        quiet={'paramedic_internal_errors_total{part="answer",instance="d"}': "7+0x20"},
    ),
    "ParamedicNoLeader": AlertCase(
        fires={'paramedic_leader{instance="a"}': "0+0x20", 'paramedic_leader{instance="b"}': "1+0x5 0+0x15"},
        quiet={'paramedic_leader{instance="a"}': "0+0x20", 'paramedic_leader{instance="b"}': "1+0x20"},
    ),
    "ParamedicTemporalUnreachable": AlertCase(
        fires={'paramedic_temporal_reachable{instance="w"}': "1+0x5 0+0x20"},
        labels={"instance": "w"},
        quiet={'paramedic_temporal_reachable{instance="w"}': "0+0x5 1+0x20"},
    ),
    "ParamedicNoWorkerPolls": AlertCase(
        fires={"paramedic_workers_polling": "0+0x20"},
        quiet={"paramedic_workers_polling": "1+0x20"},
    ),
    "ParamedicTasksWait": AlertCase(
        fires={'paramedic_backlog_seconds{queue="detector",instance="d"}': "45+0x20"},
        labels={"queue": "detector"},
        value="45s",
        quiet={'paramedic_backlog_seconds{queue="detector",instance="d"}': "2+0x20"},
    ),
    "ParamedicCacheStale": AlertCase(
        fires={'paramedic_cache_age_seconds{source="nodes",instance="d"}': "45+0x20"},
        labels={"source": "nodes", "instance": "d"},
        value="45s",
        quiet={'paramedic_cache_age_seconds{source="nodes",instance="d"}': "22+0x20"},
    ),
    "ParamedicCacheNearlyFull": AlertCase(
        fires={'paramedic_cache_fullness_ratio{source="nodes",instance="d"}': "0.8+0x20"},
        labels={"source": "nodes"},
        value="80%",
        quiet={'paramedic_cache_fullness_ratio{source="nodes",instance="d"}': "0.79+0x20"},
    ),
    "ParamedicClockSkew": AlertCase(
        fires={'paramedic_clock_skew_seconds{instance="d"}': "-6+0x20"},
        labels={"instance": "d"},
        value="6s",
        quiet={'paramedic_clock_skew_seconds{instance="d"}': "-4+0x20"},
    ),
    "ParamedicRemediationOld": AlertCase(
        fires={
            'nodehealthcheck_old_remediation_cr{name="n"}': "1+0x20",
            'nodehealthcheck_ongoing_remediation{name="n",namespace="x",remediation="R"}': "1+0x20",
        },
        labels={"name": "n"},
        quiet={
            'nodehealthcheck_old_remediation_cr{name="n"}': "1+0x20",
            'nodehealthcheck_ongoing_remediation{name="m",namespace="x",remediation="R"}': "1+0x20",
        },
    ),
    "ParamedicCodeFails": AlertCase(
        fires={"paramedic_failing_incidents": "0+0x20", "paramedic_failing_upgrade_pauses": "1+0x20"},
        quiet={"paramedic_failing_incidents": "0+0x20", "paramedic_failing_upgrade_pauses": "0+0x20"},
    ),
    "ParamedicMaintenanceFails": AlertCase(
        fires={'paramedic_maintenance_failures_total{task="renew",reason="Failed"}': "0+1x20"},
        labels={"task": "renew", "reason": "Failed"},
        value="15",
        quiet={'paramedic_maintenance_failures_total{task="renew",reason="Failed"}': "0+0x10 4+0x10"},
    ),
    "ParamedicEvidenceNotSaved": AlertCase(
        fires={'paramedic_evidence_total{result="NotSaved",instance="w"}': "0+0x10 1+0x10"},
        labels={"result": "NotSaved", "instance": "w"},
        quiet={'paramedic_evidence_total{result="Saved",instance="w"}': "0+0x10 1+0x10"},
    ),
    "ParamedicNotificationsFail": AlertCase(
        fires={'paramedic_notification_failures_total{problem="NoAnswer",instance="w"}': "0+1x20"},
        labels={"problem": "NoAnswer"},
        value="15",
        quiet={
            'paramedic_notification_failures_total{problem="NoAnswer",instance="w"}': "0+0x18 3+0x2",
            'paramedic_notifications_total{result="Sent",instance="w"}': "0+9x20",
        },
    ),
    "ParamedicIncidentsUnknown": AlertCase(
        fires={f'paramedic_open_incidents{{check="{CHECK}",phase="Unknown"}}': "2+0x20"},
        value="2",
        quiet={f'paramedic_open_incidents{{check="{CHECK}",phase="Unknown"}}': "2+0x17 0+0x3"},
    ),
    "ParamedicSuspectedOutage": AlertCase(
        fires={'paramedic_suspected_outage{cluster="",domain="site=a"}': "1+0x20"},
        labels={"domain": "site=a"},
        quiet={'paramedic_suspected_outage{cluster="",domain="site=a"}': "1+0x10 stale"},
    ),
    "ParamedicSlotsStuck": AlertCase(
        fires={'paramedic_stuck_slots{limit="maxInFlight of the policy"}': "2+0x20"},
        labels={"limit": "maxInFlight of the policy"},
        value="2",
        quiet={'paramedic_stuck_slots{limit="maxInFlight of the policy"}': "2+0x10 stale"},
    ),
    "ParamedicRemediationExhausted": _incidents("Exhausted", "2+0x20", "0+0x17 2+0x3"),
    "ParamedicStepNotTaken": _incidents("Admitted", "2+0x20", "0+0x12 2+0x8"),
    "ParamedicStepUnderWay": _incidents("UnderWay", "2+0x90", "2+0x50 0+0x40", at="80m"),
    "ParamedicCheckDisabled": AlertCase(
        fires={'paramedic_checks{kind="k",phase="Disabled"}': "2+0x20"},
        value="2",
        quiet={'paramedic_checks{kind="k",phase="Enabled"}': "2+0x20"},
    ),
    "ParamedicPolicyInvalid": AlertCase(
        fires={"paramedic_policy_invalid": "1+0x20"},
        quiet={"paramedic_policy_invalid": "0+0x17 1+0x3"},
    ),
    "ParamedicUpgradeLong": AlertCase(
        fires={"paramedic_upgrade_seconds": "21660+0x20"},
        value="6h 1m 0s",
        quiet={"paramedic_upgrade_seconds": "21600+0x20"},
    ),
    "ParamedicHeldForAPerson": _holds("Refused", "Limit", at="20m"),
    "ParamedicHeldLong": _holds("Limit", "Refused", at="13h"),
    "ParamedicCannotWork": AlertCase(
        fires=_condition("WorkerAvailable", "1+0x20"),
        labels={"condition": "WorkerAvailable", "status": "False", "namespace": "n", "name": "paramedic"},
        quiet=_condition("WorkerAvailable", "0+0x20") | _condition("SlotsAvailable", "1+0x20"),
    ),
    "ParamedicSilent": AlertCase(
        fires={f"{HEARTBEAT}{STATUS}": "0+60x8 480+0x12"},  # at 8 minutes for the last time
        labels={"namespace": "n", "name": "paramedic"},
        value="12m 0s",
        quiet={f"{HEARTBEAT}{STATUS}": "0+60x12 720+0x8"},
    ),
    "ParamedicStatusMissing": AlertCase(
        fires={f"{HEARTBEAT}{STATUS}": "0+60x5 stale"}, quiet={f"{HEARTBEAT}{STATUS}": "0+60x15 stale"}
    ),
    "ParamedicNodeHealthCheckDisabled": AlertCase(
        fires={'kube_nodehealthcheck_phase{phase="Disabled",name="workers"}': "1+0x20"},
        labels={"phase": "Disabled", "name": "workers"},
        quiet={
            'kube_nodehealthcheck_phase{phase="Disabled",name="workers"}': "0+0x20",
            'kube_nodehealthcheck_phase{phase="Enabled",name="workers"}': "1+0x20",
        },
    ),
}
"""The case of each alert of deploy/components, in the order of the files."""
