"""``python -m bench.guards.table``: the figures of the guards in the docs."""

from __future__ import annotations

from bench.guards.table import compared, table

FIGURES = {
    "seen": {
        "pii": {
            "core": {
                "precision": 1.0, "recall": 0.5, "f1": 0.6667, "right": 3, "missed": 3, "wrong": 0, "left_over": 0,
                "by_type": {
                    "email": {"precision": 1.0, "recall": 0.5, "f1": 0.6667, "right": 3, "missed": 3, "wrong": 0},
                    "ssn": {"precision": 1.0, "recall": 1.0, "f1": 1.0, "right": 1, "missed": 0, "wrong": 0},
                },
            }
        },
        "benign": {"core": {"pii": {"items": 10, "wrong": 1, "false_positive_rate": 0.1}}},
        "streams": {"items": 4, "leaks": 0, "wrong": 1, "skipped": 0},
        "unicode": {"accuracy": 0.975, "items": 40},
        "speed": {"pii": 812.4, "unicode": 9.0},
    }
}  # fmt: skip


def test_every_figure_is_in_the_table() -> None:
    """The table has a row for each corpus, tier and frequent type, with what is measured of it."""
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table(FIGURES).splitlines()[2:]]
    assert rows == [
        ["seen", "benign", "core", "pii", "10", "", "", "", "0.100", ""],
        ["seen", "pii", "core", "all", "6", "1.000", "0.500", "0.667", "", "812"],
        ["seen", "pii", "core", "email", "6", "1.000", "0.500", "0.667", "", ""],
        ["seen", "streams", "", "0 leak, 1 wrong", "4", "", "", "", "", ""],
        ["seen", "unicode", "", "right", "40", "", "0.975", "", "", "9"],
    ]


def test_a_page_is_compared_but_for_the_time() -> None:
    """A page is true on a slower machine, and no longer where a guard became worse."""
    made = table(FIGURES)
    page = f"# Figures\n\n<!-- begin of the table -->\n{made}\n<!-- end of the table -->\n"
    assert compared(page.replace("| 812 |", "| 4 |"), made) == []
    (gone, new) = compared(page.replace("| 0.975 |", "| 0.999 |"), made)
    assert (gone[0], new[0]) == ("-", "+")
    assert "0.999" in gone and "0.975" in new
    assert compared("# Figures", made) != []


def test_what_needs_an_extra_is_not_compared_without_it() -> None:
    """The injection detector with the encoder has rows of its own, that are left alone where it was not measured."""
    one = {"precision": 1.0, "recall": 0.5, "f1": 0.6667, "right": 3, "missed": 3, "wrong": 0, "left_over": 0}
    rate = {"false_positive_rate": 0.04}
    harmless = {"injection": {"items": 9, "wrong": 1, **rate}, "injection_encoder": {"items": 9, "wrong": 1, **rate}}
    measured = {
        "injection": {"core": {**one, **rate}}, "injection_encoder": {"core": {**one, **rate}},
        "benign": {"core": harmless}, "speed": {},
    }  # fmt: skip
    made = table({"seen": measured})
    assert made.count("| injection with the encoder |") == 2
    page = f"<!-- begin of the table -->\n{made}\n<!-- end of the table -->"
    less = {"injection": measured["injection"], "benign": {"core": {"injection": harmless["injection"]}}, "speed": {}}
    assert compared(page, table({"seen": less})) == []
    worse = {**measured, "injection_encoder": {"core": {**one, "recall": 0.1, **rate}}}
    assert len(compared(page, table({"seen": worse}))) == 2
