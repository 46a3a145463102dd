"""Whole frames or nothing: where a frame of a WebSocket ends."""

import socket
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.frames import Frame, Opcode

from bot.slack.wire import WholeFrames, whole_frames

_FRAMES = st.lists(
    st.builds(
        lambda size, mask: Frame(Opcode.TEXT, b"x" * size).serialize(mask=mask),
        st.sampled_from((0, 1, 125, 126, 127, 65_535, 65_536)),
        st.booleans(),
    ),
    max_size=4,
)


@given(_FRAMES, st.integers(0, 70_000))
def test_only_frames_that_are_there_to_the_end_count(frames: list[bytes], cut: int) -> None:
    data = b"".join(frames)
    shown = data[:cut]
    ends = [0]
    for frame in frames:
        ends.append(ends[-1] + len(frame))
    assert whole_frames(shown) == max(end for end in ends if end <= len(shown))
    assert whole_frames(bytearray(data)) == len(data)


@pytest.fixture
def ends() -> Iterator[tuple[WholeFrames, socket.socket, list[None]]]:
    ours, theirs = socket.socketpair()
    heard: list[None] = []
    whole = WholeFrames(ours, lambda: heard.append(None))
    yield whole, theirs, heard
    whole.close()
    theirs.close()


def test_a_frame_in_two_pieces_is_given_when_the_second_has_come(
    ends: tuple[WholeFrames, socket.socket, list[None]],
) -> None:
    whole, theirs, heard = ends
    frame = Frame(Opcode.TEXT, b"hello").serialize(mask=False)
    assert whole.recv(1024) == b""
    # The handshake before it ends with one character too many.
    theirs.sendall(b"\n" + frame[:3])
    assert whole.recv(1024) == b""
    theirs.sendall(frame[3:] + frame[:1])
    assert whole.recv(4) + whole.recv(1024) == frame
    assert whole.recv(1024) == b""
    assert len(heard) == 2
    theirs.sendall(frame[1:])
    assert whole.recv(1024) == frame


def test_the_end_of_a_connection_is_an_error_and_what_is_sent_is_sent_whole(
    ends: tuple[WholeFrames, socket.socket, list[None]],
) -> None:
    whole, theirs, _ = ends
    assert whole.send(b"abc") == 3
    assert theirs.recv(10) == b"abc"
    theirs.close()
    with pytest.raises(ConnectionResetError):
        whole.recv(1024)
