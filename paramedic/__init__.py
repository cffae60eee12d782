"""The only package that the wheel adds to a user's environment by name (ADR 28).

The wheel has the packages of a checkout in `paramedic/packages`, which is not on `sys.path`. Importing this
package changes nothing; only our programs add that folder to their own `sys.path`.
"""
