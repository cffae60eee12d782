"""Paramedic in somebody's environment: the one name that it takes there (ADR 28).

A wheel has the packages of a checkout in `paramedic/packages`, where nobody finds them by accident. To import
this package changes nothing; only a program of ours lets its own process see them.
"""
