"""The chat's part of the bench in short: what it promises in numbers holds on any machine."""

from pathlib import Path

from tests.bench.chat import answers, crowd, reads, returns

STREAMS, CLIENTS, ROUNDS = 1_000, 100, 3


def test_a_thousand_streams_are_open_at_little_cost_and_end_in_time(tmp_path: Path) -> None:
    many = crowd(tmp_path, STREAMS)
    assert many.kib_each < 100
    assert many.stop_s < 3


def test_an_event_is_read_once_however_many_watch() -> None:
    asked = reads(CLIENTS, ROUNDS)
    assert (asked.pages, asked.looks) == (1, 1)
    assert len(asked.took) == ROUNDS


def test_words_come_before_the_answer_and_a_cut_stream_comes_back(tmp_path: Path) -> None:
    told = answers(tmp_path / "answers", ROUNDS)
    assert all(first < whole for first, whole in zip(told.first, told.whole, strict=True))
    assert len(returns(tmp_path / "cuts", ROUNDS)) == ROUNDS
