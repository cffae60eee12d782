"""Decisions about health checks: pure functions of values, with time as an argument.

No I/O, no Temporal and no clock. Each decision returns a value with its reason in words. The same value
drives the action and appears in status, Events and the command.
"""
