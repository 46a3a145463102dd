"""The widget's files: how they are served, how much they weigh, and what is not in them."""

import gzip
import json
import re
import sys
from collections.abc import Iterator

import pytest

from agent.domain.languages import LANGUAGES, RIGHT_TO_LEFT
from bot.web.widget_files import content_hash, widget_files
from bot.web.widget_scripts import FOLDER, PAGE, PANEL, modules_of
from tests.support.http import Web, running_web_on_sqlite

# What a shop's page may have to load for the chat.
BUDGET = 12_288
SINKS = (
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|srcdoc|DOMParser"
    r"|createContextualFragment|\beval\b|new Function|setTimeout\(\s*[\"'`]|javascript:|\.cssText"
    r"|<style|on[a-z]+=\""
)


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    with running_web_on_sqlite(tmp_path_factory.mktemp("desk")) as web:
        yield web


def scripts() -> dict[str, str]:
    return {path.name: path.read_text("utf-8") for path in FOLDER.glob("*.js")}


def weight(*names: str) -> int:
    return sum(len(widget_files()[name].packed) for name in names)


def test_any_page_may_load_it_and_keep_it_for_minutes(web: Web) -> None:
    answer = web.client.get("/widget/v1/desk.js", headers={"origin": "https://shop.example"})
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/javascript; charset=utf-8"
    assert answer.headers["cache-control"] == "public, max-age=300"
    assert answer.headers["content-encoding"] == "gzip"
    assert answer.headers["vary"] == "Accept-Encoding"
    assert answer.headers["access-control-allow-origin"] == "*"
    assert answer.headers["cross-origin-resource-policy"] == "cross-origin"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "customElements.define" in answer.text

    plain = web.client.get("/widget/v1/desk.js", headers={"accept-encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert plain.text == answer.text
    assert plain.headers["etag"] != answer.headers["etag"]
    for tag in (plain.headers["etag"], answer.headers["etag"]):
        again = web.client.get("/widget/v1/desk.js", headers={"if-none-match": tag})
        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["access-control-allow-origin"] == "*"
    head = web.client.head("/widget/v1/desk.js")
    assert (head.status_code, head.content) == (200, b"")
    assert web.get(head.headers["content-location"]).content == answer.content


def test_a_path_that_names_the_content_is_kept_for_good(web: Web) -> None:
    pinned = web.get(f"/widget/{content_hash()}/locales/de.json")
    assert pinned.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert pinned.headers["content-type"] == "application/json; charset=utf-8"
    assert pinned.json()["send"] == "Senden"
    for path in ("v2/desk.js", "v1/none.js", "v1/../chat.py", "v1/%2e%2e/chat.py", "v1/"):
        assert web.get(f"/widget/{path}").status_code == 404


def test_what_a_page_loads_is_small(capsys: pytest.CaptureFixture[str]) -> None:
    locale = max((f"locales/{one}.json" for one in LANGUAGES), key=weight)
    page, panel, everything = weight(PAGE, locale), weight(PANEL), weight(*widget_files())
    with capsys.disabled():
        said = f"\nwidget: {page} B gzip on a page, {panel} B once opened; {everything} B in all\n"
        sys.stdout.write(said)
    assert page <= BUDGET
    assert all(gzip.decompress(one.packed) == one.content for one in widget_files().values())


def test_every_module_travels_once_without_its_comments() -> None:
    page, panel = modules_of(PAGE), modules_of(PANEL)
    assert {*page, *panel} == set(scripts())
    assert "customElements" not in widget_files()[PANEL].content.decode()
    for name in (PAGE, PANEL):
        sent = widget_files()[name].content.decode()
        assert "/*" not in sent
        assert not re.search(r"^\s*//|^import ", sent, re.MULTILINE)
    for name, text in scripts().items():
        assert text.startswith("// @ts-check\n/**"), name
        # A comment beside code would need to be understood before it could be left out.
        assert not re.search(r"/\*(?!\*)|^export (?:default|\{|\*)", text, re.MULTILINE), name


def test_the_modules_share_one_scope_without_a_clash() -> None:
    names = [
        name
        for text in scripts().values()
        for name in re.findall(
            r"^(?:export )?(?:async )?(?:const|let|class|function\*?) (\w+)", text, re.MULTILINE
        )
    ]
    assert sorted(set(names)) == sorted(names)


def test_there_is_nothing_that_makes_code_or_markup_of_text() -> None:
    found = {
        f"{name}: {hit}" for name, text in scripts().items() for hit in re.findall(SINKS, text)
    }
    assert found == set()


def test_every_language_has_all_words() -> None:
    texts = {one: json.loads((FOLDER / f"locales/{one}.json").read_text()) for one in LANGUAGES}
    assert {path.stem for path in FOLDER.glob("locales/*")} == set(LANGUAGES)
    for language, words in texts.items():
        assert list(words) == list(texts["en"])
        for key, text in words.items():
            placeholders = sorted(re.findall(r"\{\w+\}", texts["en"][key]))
            assert text.strip(), (language, key)
            assert sorted(re.findall(r"\{\w+\}", text)) == placeholders
    code = scripts()["words.js"]
    assert f"const LANGUAGES = {json.dumps(list(LANGUAGES))};" in code
    assert {"ar"} == RIGHT_TO_LEFT
    assert 'this.language === "ar" ? "rtl" : "ltr"' in code
