"""What any workflow of ours is built from: calls that are always finished, and standing orders of people.

Rule: a workflow holds these, and inherits none of them; so it is one class, with its own handlers, state and
loop. Nothing here knows what a workflow is about. A handler only writes down what it is told; the main loop
alone awaits. A cancel is an order like any other.
"""
