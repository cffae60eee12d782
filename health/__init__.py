"""Decisions about health checks: pure functions of values, with time as an argument.

No I/O, no Temporal, no clock. Whatever decides here returns a value with its reason in words, and the
same value acts, is shown in status and is told to people.
"""
