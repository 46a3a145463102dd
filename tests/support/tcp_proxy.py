"""A TCP proxy between a client and a server, whose lines a test cuts where it likes."""

import socket
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from tests.support.outside import eventually

_PIECE = 65_536


@dataclass(frozen=True, slots=True)
class Cut:
    """A line is cut when so many bytes of the answer to a request with these bytes went through."""

    request: bytes
    after: int


@dataclass(eq=False)
class Line:
    """One connection through the proxy: `near` is the client's end, `far` the server's."""

    near: socket.socket
    far: socket.socket
    left: int | None = None

    def end(self) -> None:
        """Hang up on both sides; what was passed on so far still arrives."""
        for side in (self.near, self.far):
            with suppress(OSError):
                side.shutdown(socket.SHUT_RDWR)


@dataclass
class TcpProxy:
    """Passes bytes on to 127.0.0.1:`server_port`; safe to use from any thread.

    `lines` are open, `refused` is how many connections found no server; `passed` counts the bytes
    that came back through the proxy.
    """

    server_port: int
    port: int = 0
    lines: set[Line] = field(default_factory=set)
    refused: int = 0
    passed: int = 0
    cuts: deque[Cut] = field(default_factory=deque)
    _listener: socket.socket | None = None
    _threads: list[threading.Thread] = field(default_factory=list)
    _changing: threading.RLock = field(default_factory=threading.RLock)

    @property
    def url(self) -> str:
        """Where clients find the server."""
        return f"http://127.0.0.1:{self.port}"

    def cuts_answer(self, request: bytes, after: int) -> None:
        """Cut the line of the next request that holds these bytes, `after` bytes into its answer.

        Said several times, each counts for one request; 0 cuts before the first byte.
        """
        self.cuts.append(Cut(request, after))

    def cut(self) -> None:
        """Cut every line that is open; new ones go through."""
        with self._changing:
            ended = set(self.lines)
            for line in ended:
                line.end()
        eventually(lambda: self.lines.isdisjoint(ended), "lines that are cut")

    def shut(self) -> None:
        """Cut every line and refuse connections, as a network or a server that is away does."""
        with self._changing:
            listener, self._listener = self._listener, None
        if listener is not None:
            # It wakes whoever waits for a connection, which closing alone does not.
            listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        self.cut()

    def open(self) -> None:
        """Take connections again, at the same address."""
        with self._changing:
            if self._listener is not None:
                return
            listener = socket.create_server(("127.0.0.1", self.port), backlog=256)
            self.port, self._listener = listener.getsockname()[1], listener
        self._start(self._take, listener)

    def end(self) -> None:
        """Shut for good and wait for every thread."""
        self.shut()
        for thread in self._threads:
            thread.join()

    def _take(self, listener: socket.socket) -> None:
        while self._listener is listener:
            with suppress(OSError):
                near = listener.accept()[0]
                self._join(near, listener)

    def _join(self, near: socket.socket, listener: socket.socket) -> None:
        try:
            far = socket.create_connection(("127.0.0.1", self.server_port))
        except OSError:
            self.refused += 1
            near.close()
            return
        line = Line(near, far)
        with self._changing:
            self.lines.add(line)
            if self._listener is not listener:
                line.end()
        answers = threading.Thread(target=self._answers, args=(line,), daemon=True)
        answers.start()
        self._start(self._asks, line, answers)

    def _asks(self, line: Line, answers: threading.Thread) -> None:
        """Pass on what the client says, until either side hangs up; then both are closed."""
        with suppress(OSError):
            while data := line.near.recv(_PIECE):
                if self.cuts and self.cuts[0].request in data:
                    line.left = self.cuts.popleft().after
                line.far.sendall(data)
        line.end()
        answers.join()
        with self._changing:
            self.lines.discard(line)
        line.near.close()
        line.far.close()

    def _answers(self, line: Line) -> None:
        """Pass on what the server says, up to the byte where the line is to be cut."""
        with suppress(OSError):
            while data := line.far.recv(_PIECE):
                if line.left is not None:
                    data, line.left = data[: line.left], max(line.left - len(data), 0)
                line.near.sendall(data)
                self.passed += len(data)
                if line.left == 0:
                    break
        line.end()

    def _start(self, target: Callable[..., None], *args: object) -> None:
        thread = threading.Thread(target=target, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()


@contextmanager
def running_proxy(server_port: int) -> Iterator[TcpProxy]:
    """Run a proxy in front of a server on this machine until the block ends."""
    proxy = TcpProxy(server_port)
    proxy.open()
    try:
        yield proxy
    finally:
        proxy.end()
