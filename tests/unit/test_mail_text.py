"""Which characters an e-mail may hold."""

import pytest

from agent.domain.mail_text import is_mail_line, is_mail_text


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", True, True),
        ("Your order ORD-1001", True, True),
        ("שלום 🎉 Grüße", True, True),
        ("a\u200db\u202e", True, True),  # joiners and direction marks are part of real scripts
        ("two\nlines", False, True),
        ("two\r\nlines", False, True),
        ("a\ttab", False, True),
        ("a\u2028line", False, True),
        ("a\u2029paragraph", False, True),
        ("Hi\r\nBcc: thief@evil.example", False, True),
        ("nul\0", False, False),
        ("escape\x1b[2J", False, False),
        ("backspace\x08", False, False),
        ("next line\x85", False, False),
        ("delete\x7f", False, False),
        ("form\x0cfeed", False, False),
        ("half a character \ud83c", False, False),
    ],
)
def test_what_a_reader_cannot_see_is_not_allowed(text: str, line: bool, words: bool) -> None:
    assert is_mail_line(text) is line
    assert is_mail_text(text) is words
