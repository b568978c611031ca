"""
What Alembic runs when tables are to be upgraded.
"""

from __future__ import annotations

from typing import Any

from alembic import context

from procession.storage.postgres.tables import VERSION_TABLE

__all__: list[str] = []


def _upgrade() -> None:
    given: dict[str, Any] = context.config.attributes
    context.configure(connection=given["connection"], version_table=VERSION_TABLE, version_table_schema=given["schema"])
    context.run_migrations()


if __name__ == "env_py":  # as Alembic calls it, and nobody who merely imports it
    _upgrade()
