"""The comparison as one HTML page that needs nothing else: no network, no library, no font."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from cuda2npu import __version__
from cuda2npu.verify.comparison import Comparison
from cuda2npu.verify.report.data import page_data
from cuda2npu.verify.report.environment import environment_table
from cuda2npu.verify.report.operators import operator_table
from cuda2npu.verify.report.strict import strict
from cuda2npu.verify.report.words import WORDS

STYLE = ("style.css",)
SCRIPTS = ("common.js", "details.js", "table.js", "chart.js", "curves.js", "page.js")
MOST_SHAPES = 3  # of an operator that are shown
LANGUAGES = {"en": "en", "zh": "zh-Hans"}  # as HTML names them


def render(comparison: Comparison, lang: str) -> str:
    """Return the page.

    Names and paths in it are data: jinja2 escapes them, and the script inserts them as text. Should one
    still get through, the policy lets nothing run but the page's own script, which it names by its digest.
    """
    loader = PackageLoader("cuda2npu.verify.report", "templates")
    templates = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    # The files are our own, and hold no `</`; they are not templates.
    style, script = (
        "\n".join(loader.get_source(templates, name)[0] for name in names) for names in (STYLE, SCRIPTS)
    )
    return templates.get_template("page.html").render(
        comparison=comparison,
        language=LANGUAGES[lang],
        say=say,
        both=both,
        words=WORDS,
        most_shapes=MOST_SHAPES,
        style=Markup(style),
        script=Markup(script),
        policy=f"default-src 'none'; style-src {_digest(style)}; script-src {_digest(script)}",
        data=Markup(in_script({**page_data(comparison), "words": WORDS, "languages": LANGUAGES})),
        environment=environment_table(comparison),
        operators=operator_table(comparison.candidate),
        version=__version__,
    )


def say(key: str, **values: object) -> Markup:
    """Return a text of the page in both languages; the style shows one of them."""
    english, chinese = WORDS[key]
    return both(english.format(**values), chinese.format(**values))


def both(english: str, chinese: str) -> Markup:
    """Return a text in both languages."""
    return Markup('<span lang="en">{}</span><span lang="zh-Hans">{}</span>').format(
        strict(english), strict(chinese or english)
    )


def in_script(data: Mapping[str, Any]) -> str:
    """Return JSON that can stand in a script element, whatever is in it.

    HTML knows no escapes there, so nothing may look like markup: JSON's own escapes stand for ``<``, ``>``
    and ``&``, and for all that isn't ASCII.
    """
    text = json.dumps(strict(data), ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", r"\u003c").replace(">", r"\u003e").replace("&", r"\u0026")


def _digest(text: str) -> str:
    """Return the source expression of an inline element in a content security policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
