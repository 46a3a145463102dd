"""Work for somebody who waits in Slack: answered in time, finished in any case."""

import logging
import threading

import pytest

from bot.slack.prompt import Prompt


def unheard(_answer: object) -> None:
    raise AssertionError("nobody is late")


def test_what_is_done_in_time_is_answered_at_once() -> None:
    prompt = Prompt(within_s=60)
    assert prompt.run(lambda: "done", unheard) == "done"
    prompt.close()


def test_what_fails_in_time_fails_for_the_caller() -> None:
    prompt = Prompt(within_s=60)
    with pytest.raises(TimeoutError, match="its own"):
        prompt.run(_fail, unheard)
    prompt.close()


def test_what_takes_longer_is_heard_when_it_is_done() -> None:
    prompt, go, heard = Prompt(within_s=0.01), threading.Event(), list[bool]()
    assert prompt.run(lambda: go.wait(60), heard.append) is None
    assert heard == []
    go.set()
    prompt.close()
    assert heard == [True]


def test_what_fails_later_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    prompt, go, heard = Prompt(within_s=0.01), threading.Event(), list[None]()

    def fail_later() -> None:
        assert go.wait(60)
        _fail()

    assert prompt.run(fail_later, heard.append) is None
    with caplog.at_level(logging.ERROR):
        go.set()
        prompt.close()
    assert heard == []
    assert "its own time-out" in str(caplog.records[-1].exc_info)


def _fail() -> None:
    raise TimeoutError("its own time-out")
