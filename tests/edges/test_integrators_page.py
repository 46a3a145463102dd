"""The page for whoever puts the chat into a shop: what it says is run, and works."""

import os
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path

import httpx
import pytest
from typing_extensions import override

from bot.settings import load_settings
from bot.web.chat_keys import ChatKeys
from tests.support import unavailable
from tests.support.doubles import HandClock
from tests.support.http import Headers, running_web_on_sqlite
from tests.support.outside import eventually, unix_now

SECRET = "0123456789abcdef0123456789abcdef"
# The part of the example that is the shop's own: whose session a request has.
MY_SHOP = {
    "my_shop.py": (
        "from types import SimpleNamespace\n"
        "def customer_of(request):\n"
        "    who = request.headers.get('x-customer')\n"
        "    return who and SimpleNamespace(id=who)\n"
    ),
    "my-shop.mjs": (
        "export const customerOf = ({ headers }) =>\n"
        "  headers['x-customer'] ? { id: headers['x-customer'] } : null;\n"
    ),
}


class Snippets(HTMLParser):
    """The texts of the page's code by their ids, and every element it has."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.texts: dict[str, str] = {}
        self.tags: set[str] = set()
        self._inside: str | None = None
        self.feed(page)

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if tag == "code" and (name := dict(attrs).get("id")):
            self._inside, self.texts[name] = name, ""

    @override
    def handle_endtag(self, tag: str) -> None:
        self._inside = None if tag == "code" else self._inside

    @override
    def handle_data(self, data: str) -> None:
        if self._inside is not None:
            self.texts[self._inside] += data


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Response]:
    with running_web_on_sqlite(tmp_path_factory.mktemp("desk")) as web:
        yield web.get("/widget/")


@pytest.fixture(scope="module")
def snippets(page: httpx.Response) -> dict[str, str]:
    return Snippets(page.text).texts


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """Return a folder with a shop's own modules."""
    for name, text in MY_SHOP.items():
        (tmp_path / name).write_text(text, "utf-8")
    return tmp_path


def test_the_page_needs_nothing_but_itself(page: httpx.Response) -> None:
    policy = page.headers["content-security-policy"]
    assert "script-src" not in policy
    assert "'unsafe-inline'" not in policy
    assert Snippets(page.text).tags.isdisjoint({"script", "link", "img", "iframe", "form"})
    assert 'style="' not in page.text
    for named in (
        "WIDGET_ORIGINS",
        "WIDGET_JWT_SECRET",
        "WIDGET_JWT_PUBLIC_KEY",
        "SHOP_URL",
        "desk-open",
        "desk-close",
        "desk-unread",
        "desk-message",
        "desk-approval",
        "desk-signin",
        "reset()",
        "#support-desk",
        "proxy_buffering off",
        "X-Accel-Buffering",
    ):
        assert named in page.text


def test_a_shop_in_python_signs_with_a_secret(snippets: dict[str, str], shop: Path) -> None:
    (shop / "desk_token.py").write_text(snippets["python-hs256"], "utf-8")
    with serving(shop, *uvicorn(), WIDGET_JWT_SECRET=SECRET) as url:
        is_accepted(url, shop, ChatKeys(secret=SECRET))


def test_a_shop_in_node_signs_with_a_secret(snippets: dict[str, str], shop: Path) -> None:
    (shop / "desk-token.mjs").write_text(snippets["node-hs256"], "utf-8")
    with serving(shop, node(), "desk-token.mjs", WIDGET_JWT_SECRET=SECRET) as url:
        is_accepted(url, shop, ChatKeys(secret=SECRET))


def test_a_shop_in_python_signs_with_a_private_key(
    snippets: dict[str, str], shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = made_keys(snippets["key-commands"], shop, monkeypatch)
    (shop / "desk_token.py").write_text(snippets["python-rs256"], "utf-8")
    with serving(shop, *uvicorn()) as url:
        is_accepted(url, shop, keys)


def test_a_shop_in_node_signs_with_a_private_key(
    snippets: dict[str, str], shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = made_keys(snippets["key-commands"], shop, monkeypatch)
    (shop / "sign.mjs").write_text(snippets["node-rs256"], "utf-8")
    whole = snippets["node-hs256"]
    # "As above, with another sign": its own goes, and the import of what it was made with.
    before, _, rest = whole.partition("function part")
    _, _, after = rest.partition("createServer(")
    other = f'{before}import {{ sign }} from "./sign.mjs";\n\ncreateServer({after}'
    (shop / "desk-token.mjs").write_text(other, "utf-8")
    with serving(shop, node(), "desk-token.mjs") as url:
        is_accepted(url, shop, keys)


def test_the_secret_is_one_that_the_desk_takes(
    snippets: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    command, _, _ = snippets["secret-command"].partition("#")
    made = subprocess.run(
        [openssl(), *shlex.split(command)[1:]], capture_output=True, text=True, check=True
    )
    monkeypatch.setenv("WIDGET_JWT_SECRET", made.stdout.strip())
    assert load_settings().widget_jwt_secret is not None


def is_accepted(url: str, folder: Path, keys: ChatKeys) -> None:
    """Ask a shop for tokens, and the desk what it thinks of them."""
    nobody = httpx.post(f"{url}/desk-token")
    assert nobody.status_code == 204
    signed = httpx.post(f"{url}/desk-token", headers={"x-customer": "cus_clara"})
    assert signed.status_code == 200
    assert signed.headers["cache-control"] == "no-store"
    clara = Headers(f"Bearer {signed.json()['token']}")
    clock = HandClock(datetime.fromtimestamp(unix_now(), UTC))
    with running_web_on_sqlite(folder, clock=clock, chat_keys=keys) as web:
        opened = web.post("/chat/conversations", {}, clara)
        assert opened.status_code == 201
        assert list(opened.json()) == ["conversation_id"]
        clock.advance(minutes=11)
        assert web.get("/chat/conversations", clara).status_code == 401


def made_keys(commands: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> ChatKeys:
    """Make a pair of keys as the page says, and give the desk the public one."""
    for command in commands.splitlines():
        words = [openssl(), *shlex.split(command)[1:]]
        subprocess.run(words, cwd=folder, capture_output=True, check=True)
    public = (folder / "desk-public.pem").read_text("utf-8")
    monkeypatch.setenv("WIDGET_JWT_PUBLIC_KEY", public.replace("\n", "\\n"))
    key = load_settings().widget_jwt_public_key
    assert key is not None
    return ChatKeys(public_key=key.get_secret_value())


@contextmanager
def serving(folder: Path, *command: str, **env: str) -> Iterator[str]:
    """Run a shop's backend until the block ends."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    words = [port if word == "$PORT" else word for word in command]
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen(
            words, cwd=folder, env={"PATH": os.defpath, "PORT": port, **env}, stdout=log, stderr=log
        ) as process,
    ):
        try:
            url = f"http://127.0.0.1:{port}"
            eventually(lambda: process.poll() is not None or answers(url), "backend of a shop")
            assert process.poll() is None, (folder / "log").read_text("utf-8")
            yield url
        finally:
            process.kill()


def answers(url: str) -> bool:
    try:
        return httpx.get(url).status_code == httpx.codes.NOT_FOUND
    except httpx.TransportError:
        return False


def uvicorn() -> tuple[str, ...]:
    return sys.executable, "-m", "uvicorn", "desk_token:app", "--port", "$PORT"


def node() -> str:
    return shutil.which("node") or unavailable("Node")


def openssl() -> str:
    return shutil.which("openssl") or unavailable("openssl")
