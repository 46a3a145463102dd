"""POLICY.md is the document of the shipped policy, and its texts are those of the tools."""

from agent.domain.policy import EFFECT_TOOLS, read_policy
from agent.domain.policy_text import policy_markdown
from agent.domain.policy_words import TOOLS
from agent.tools.registry import EFFECTS
from bot.policy_file import read_policy_file
from bot.settings import SHIPPED_POLICY
from tests.conventions.sources import ROOT

AGAIN = "agent policy show --format markdown > POLICY.md"


def test_policy_md_is_made_from_the_shipped_policy() -> None:
    shipped = read_policy(read_policy_file(SHIPPED_POLICY).content)
    written = (ROOT / "POLICY.md").read_text("utf-8")
    assert written == policy_markdown(shipped), f"Make it anew: {AGAIN}"


def test_every_tool_with_an_effect_is_spoken_of() -> None:
    assert set(TOOLS) == set(EFFECTS) == set(EFFECT_TOOLS)
    assert all(f"({name})" in words for name, words in TOOLS.items())
