"""Ids and descriptions that are code elsewhere are text in every drawing."""

from __future__ import annotations

import json
import re
from typing import Any
from xml.etree import ElementTree

import pytest

from procession.steps.step import Step
from procession.workflows.render.draw import draw
from procession.workflows.workflow import Workflow, create_workflow

IDS = ('a"><img src=x onerror=alert(1)>', "end", 'x]-->y; click x href "javascript:alert(1)"')
"""The ids of the case."""


def hostile() -> Workflow[Any, Any]:
    """Return the case's workflow, with a description that is markup as well."""
    made = create_workflow('w"><script>alert(1)</script>', str)
    for id in IDS:
        made.then(Step[str, str](id=id, execute=str, description="<svg/onload=alert(1)>"))
    return made


def test_mermaid_has_names_of_its_own() -> None:
    """SEC-003: nodes have generated keys, and the ids are escaped labels: neither markup nor a statement of mermaid's."""
    text = draw(hostile(), "mermaid")
    assert re.findall(r"^  (n\d+)", text, re.MULTILINE)
    assert not {"<img", "<script", "<svg"} & set(re.findall(r"<\w+", text))
    outside = re.sub(r'"[^"\n]*"', '""', text)
    assert not re.search(r"click|href|alert|javascript", outside)
    shown = re.sub(r"#(\d+);", lambda found: chr(int(found[1])), text)
    assert IDS[0] in shown.replace("<br/>", "")


def test_a_drawing_is_text_and_shapes() -> None:
    """SEC-003: in an SVG the ids are text: no element, no attribute and no address comes of them, and there is no script."""
    pytest.importorskip("fast_sugiyama")
    root = ElementTree.fromstring(draw(hostile(), "svg"))
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert not tags & {"script", "img", "image", "a", "foreignObject", "iframe", "use"}
    names = {name for element in root.iter() for name in element.attrib}
    assert not [name for name in names if name.startswith("on") or name.endswith("href")]
    assert "alert(1)" in "".join(root.itertext())


def test_json_has_the_ids_as_they_are() -> None:
    """SEC-003: JSON gives each id back as it is, and what is no JSON does not come of it."""
    text = json.dumps(json.loads(draw(hostile(), "json")), ensure_ascii=False)
    assert all(json.dumps(id, ensure_ascii=False)[1:-1] in text for id in IDS)
