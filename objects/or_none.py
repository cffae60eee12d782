"""OR_NONE annotates a field whose invalid values become None.

pydantic turns the invalid value of each error into Python values, which cost 30 to 70 times the bytes of
hostile JSON. No error is made here, so no value either.
"""

from typing import Any

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema


class _OrNone:
    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:  # noqa: ANN401  pydantic defines this method
        return core_schema.with_default_schema(handler(source), default=None, on_error="default")


OR_NONE = _OrNone()
