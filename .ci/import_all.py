"""Import every module of the installed procession, and compare with the sources.

A build that follows the links at the top of the repository loses whole folders
without an error: only a look into what was installed tells.

    python -I .ci/import_all.py src/procession
"""

import importlib
import pkgutil
import sys
from pathlib import Path

import procession


def installed() -> set[str]:
    """Import each module of the package and return their names."""
    names = {module.name for module in pkgutil.walk_packages(procession.__path__, "procession.")}
    for name in sorted(names):
        importlib.import_module(name)
    return names | {"procession"}


def written(source: Path) -> set[str]:
    """Return the names of the modules that a source folder holds."""
    names: set[str] = set()
    for file in source.rglob("*.py"):
        parts = file.relative_to(source.parent).with_suffix("").parts
        names.add(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    return names


def main() -> int:
    """Report what is missing; the exit status is 1 if anything is."""
    source = Path(sys.argv[1]).resolve()
    package = Path(next(iter(procession.__path__))).resolve()
    if package == source:
        print("these are the sources, not an installed package")
        return 1
    found, expected = installed(), written(source)
    for name in sorted(expected - found):
        print(f"missing from the installed package: {name}")
    if not (package / "py.typed").is_file():
        print("missing from the installed package: py.typed")
        return 1
    if expected - found:
        return 1
    print(f"imported all {len(found)} modules from {package}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
