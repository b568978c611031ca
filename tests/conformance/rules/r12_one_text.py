"""
R12: one text (D37).
"""

from __future__ import annotations

from collections.abc import Mapping

from tests.conformance.compare import ANY, Difference, either
from tests.conformance.rules.reading import runs_of
from tests.conformance.scenario import Json, is_list, is_object, listing, mapping

__all__ = ["check_texts", "one_text", "settle_texts"]

ENDS = ("step-finish", "finish")


def one_text(expected: dict[str, Json], setup: Mapping[str, Json]) -> None:
    """
    Do not compare the ``text`` that ``process_output_step`` and ``process_output_result`` see with the recorded one:
    the run's own messages, in the same call, tell what it must be.
    """
    for entry in listing(expected.get("timeline")):
        match entry.get("hook"):
            case "process_output_step" if "text" in entry:
                entry["text"] = ANY
            case "process_output_result" if "result" in entry:
                entry["result"]["text"] = ANY
            case _:
                pass


def settle_texts(expected: dict[str, Json], actual: Mapping[str, Json], setup: Mapping[str, Json]) -> None:
    """
    Let ``text`` of ``step-finish`` and ``finish`` be the recorded one, or that of the step after the edits made so far.
    """
    for run, ours in zip(runs_of(setup, expected), listing(actual.get("runs")), strict=False):
        texts = [step.get("text", "") for step in listing(mapping(ours.get("result")).get("steps"))]
        chunks = run.record.get("chunks")
        accepted = 0
        for chunk in chunks if is_list(chunks) else []:
            if chunk.get("type") in ENDS and chunk.get("reason") not in ("retry", "error") and "text" in chunk:
                step = accepted if chunk["type"] == "step-finish" else len(texts) - 1
                if 0 <= step < len(texts):
                    chunk["text"] = either(chunk["text"], texts[step])
                accepted += chunk["type"] == "step-finish"
        number = 0
        for entry, _ in run.hooks():
            part = mapping(entry.get("part"))
            if part.get("type") == "step-finish" and part.get("reason") not in ("retry", "error"):
                if number < len(texts):
                    part["text"] = either(part["text"], texts[number])
                number += entry.get("processor") == _last_streamer(run.entries)


def _last_streamer(entries: list[dict[str, Json]]) -> str | None:
    names = [str(entry["processor"]) for entry in entries if mapping(entry.get("part")).get("type") == "step-finish"]
    return names[-1] if names else None


def check_texts(actual: dict[str, Json]) -> list[Difference]:
    """
    Return where a run contradicts itself: a text that a hook was shown beside other messages, or a result whose text
    is not that of its steps.  Takes what was noted for this out of the run.
    """
    found: list[Difference] = []
    for index, entry in enumerate(listing(actual.get("timeline"))):
        if "shown_text" in entry:
            shown: list[str] = entry.pop("shown_text")
            text = entry["result"]["text"] if "result" in entry else entry.get("text")
            if text not in shown:  # a processor may have put a message behind the one that the step is part of
                where = f"timeline[{index}] ({entry.get('processor')}.{entry.get('hook')}).text"
                found.append(Difference(where, shown[0], text, "R12: not the text of the messages in the same call"))
    for index, run in enumerate(listing(actual.get("runs"))):
        result = run.get("result") if is_object(run) else None
        if is_object(result) and is_list(result.get("steps")) and "text" in result:
            joined = "".join(str(step.get("text", "")) for step in result["steps"])
            if result["text"] != joined:
                found.append(
                    Difference(f"runs[{index}].result.text", joined, result["text"], "R12: not the text of its steps")
                )
    return found
