"""
``procession db``: the tables of a store, and keys.
"""

from __future__ import annotations

import json
import sys

import typer

from procession.cli.command import JsonOption, SchemaOption, StoreOption, plain_errors

__all__ = ["db"]

db = typer.Typer(help="Look at the tables of a store, upgrade them, and make keys.", no_args_is_help=True)


@db.command("upgrade")
def db_upgrade(store: StoreOption = None, schema: SchemaOption = None, as_json: JsonOption = False) -> None:
    """
    Make the tables of a store, or make those of an earlier version into those of this one.
    """
    from procession.cli.db import upgrade_tables

    with plain_errors():
        tables = upgrade_tables(store, schema)
        typer.echo(tables.as_json if as_json else str(tables))
        sys.stdout.flush()


@db.command("status")
def db_status(store: StoreOption = None, schema: SchemaOption = None, as_json: JsonOption = False) -> None:
    """
    Say which version the tables of a store are of; exit status 1 where it is not the one that is needed.
    """
    from procession.cli.db import read_tables

    with plain_errors():
        tables = read_tables(store, schema)
        typer.echo(tables.as_json if as_json else str(tables))
        sys.stdout.flush()
    raise typer.Exit(0 if tables.is_current else 1)


@db.command("key")
def db_key(as_json: JsonOption = False) -> None:
    """
    Print a new key for PROCESSION_STORE_KEY, with which stores encrypt what was said.
    """
    from procession.storage.cipher import new_key

    with plain_errors():
        key = new_key()
        typer.echo(json.dumps({"key": key}) if as_json else key)
        sys.stdout.flush()
