"""The series of the Temporal SDK that the dashboard and docs/metrics.md name, with the labels that they use.

`tests/runtime/test_temporal_core.py` compares them with the series that the SDK really exports.
"""

TEMPORAL_SERIES = frozenset(
    {
        "temporal_activity_schedule_to_start_latency_seconds",
        "temporal_request_failure_total",
        "temporal_request_latency_seconds",
        "temporal_request_total",
        "temporal_sticky_cache_size",
        "temporal_worker_task_slots_available",
        "temporal_workflow_task_schedule_to_start_latency_seconds",
    }
)
TEMPORAL_LABELS = {"operation", "task_queue", "worker_type"}
"""Each series has some of them."""
