"""How soon a customer sees a word that the model has said: in a real browser, on a shop's page."""

from pathlib import Path

from playwright.sync_api import expect

from agent.providers.system import SystemClock
from tests.browser.shopper import Tab, running_street, shopping
from tests.support.chromium import running_chromium
from tests.support.outside import eventually

CUSTOMER = "cus_clara"
# When the words of an answer that is under way were on the screen, in seconds since 1970.
_SEEN = """
  () => new Promise((done) => {
    const draft = document.querySelector("support-desk").shadowRoot.querySelector(".draft");
    const look = () => {
      if (draft.textContent && !draft.hidden) {
        // After the next frame, so that it is painted and not only there.
        requestAnimationFrame(() => setTimeout(
          () => done((performance.timeOrigin + performance.now()) / 1000)));
        watch.disconnect();
      }
    };
    const watch = new MutationObserver(look);
    watch.observe(draft, { attributes: true, childList: true, characterData: true, subtree: true });
  })
"""


def first_words(folder: Path, rounds: int) -> list[float]:
    """Ask so often in Chromium; seconds from the model's first word to its bubble on the screen."""
    folder.mkdir(parents=True)
    with (
        running_street(folder / "desk") as street,
        running_chromium(folder) as browser,
        shopping(street, browser, CUSTOMER) as shopper,
    ):
        tab = shopper.tab().opens()
        return [_first_word(tab, number) for number in range(rounds)]


def _first_word(tab: Tab, number: int) -> float:
    model, page = tab.street.model, tab.page
    asked = model.asked
    tab.says(f"SLOWLY number{number} follows")
    eventually(lambda: model.asked > asked, "the model is asked")
    page.evaluate(f"() => {{ window.seen = ({_SEEN})(); }}")
    started = SystemClock().now().timestamp()
    model.steps.release(1)
    seen = float(page.evaluate("() => window.seen"))
    model.steps.release(1)
    expect(tab.turns("agent", f"number{number} follows")).to_have_count(1)
    return seen - started
