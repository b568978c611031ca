"""``ToolIndex``: which tools a query finds, in whatever language, and which comes first."""

from __future__ import annotations

import pytest

from procession.processors.utility.tool_index import ToolIndex, tokens_of


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("sendEmail HTTPServer", ["send", "email", "http", "server"]),
        ("send_email-v2 a", ["send", "email", "v2"]),
        ("ＷＥＡＴＨＥＲ Straße", ["weather", "strasse"]),
        ("погода сейчас", ["погода", "сейчас"]),
        ("मौसम", ["मौसम"]),
        ("天気 を見る", ["天気", "を見", "見る"]),
        ("晴", ["晴"]),
        ("날씨", ["날씨"]),
        ("get天気now", ["get", "天気", "now"]),
        ("... !", []),
    ],
)
def test_words_of_any_language(text: str, tokens: list[str]) -> None:
    """Names are taken apart, letters of all scripts count, and scripts without spaces give pairs of characters."""
    assert tokens_of(text) == tokens


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("wetter stadt", "w_de"),
        ("天気を教えて", "w_ja"),
        ("погода", "w_ru"),
        ("weather", "w_en"),
        ("nothing here", None),
    ],
)
def test_other_languages_are_found(query: str, first: str | None) -> None:
    """A query in the language of the description finds it; one about something else finds nothing."""
    index = ToolIndex(
        {
            "w_de": "Wetter einer Stadt",
            "w_ja": "都市の天気を調べる",
            "w_ru": "Погода в городе",
            "w_en": "Weather of a city",
        }
    )
    found = index.search(query)
    assert (found[0].name if found else None) == first


@pytest.mark.parametrize("described", [{}, {"_": ""}, {"one": "alone"}])
def test_small_sets_have_an_index(described: dict[str, str]) -> None:
    """A set of one tool, of none, and of one without a word in it can be looked up."""
    assert [found.name for found in ToolIndex(described).search("alone")] == (["one"] if "one" in described else [])


def test_a_name_counts_for_more_than_a_word() -> None:
    """A tool that is called like what is asked for comes before one that only mentions it."""
    index = ToolIndex({"report": "Writes down mail, mail and more mail", "mail": "Sends a message"})
    assert [found.name for found in index.search("mail")] == ["mail", "report"]
