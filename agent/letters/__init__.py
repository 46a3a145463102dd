"""Mails to customers, drawn from templates: as plain text, and the same as HTML."""

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from agent.domain.mailing import Letter


def render(letter: Letter) -> tuple[str, str]:
    """Return the plain text and the HTML of a letter; in the HTML nothing of it is markup."""
    text, html = (_templates().get_template(f"outcome.{kind}") for kind in ("txt", "html"))
    return text.render(letter=letter), html.render(letter=letter)


@cache
def _templates() -> Environment:
    return Environment(
        loader=PackageLoader("agent.letters"),
        autoescape=select_autoescape(("html",), default_for_string=True, default=False),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
