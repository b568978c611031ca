"""
Stores in Postgres.
"""

from importlib.util import find_spec

from procession.errors import DefinitionError

# Here, so that it is said once for the room, whichever of its modules is asked for.
if not all(find_spec(package) for package in ("sqlalchemy", "psycopg", "alembic")):
    raise DefinitionError("Postgres needs packages that are not installed", hint="pip install 'procession[postgres]'")
