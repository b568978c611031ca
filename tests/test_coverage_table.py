"""The table of parts and guards says what the guards do."""

from tests.coverage_table import PLACES, kept, table


async def test_the_table_is_what_the_guards_do() -> None:
    """docs/coverage.md has the table that measuring gives: ``python -m tests.coverage_table --write`` brings it up to date."""
    assert await table() == kept()


def test_the_table_has_every_place() -> None:
    """The page is not empty by accident: it has a row for each place, and cells of all three kinds."""
    rows = kept().splitlines()[2:]
    assert len(rows) == len(PLACES) + 1
    assert {cell.strip() for row in rows for cell in row.split("|")[2:-1]} == {"yes", "noted", "–"}
