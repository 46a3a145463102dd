"""Arguments of a Web API call, from a form or from JSON, and the errors Slack answers."""

from collections.abc import Iterable, Mapping

from typing_extensions import override

from bot.sandbox.json_shape import JsonObject, Problem, parse_json

_YES = ("1", "true")
_NO = ("", "0", "false")


class ApiError(Exception):
    """A call answers `{"ok": false, "error": code}`, with details in `response_metadata`."""

    def __init__(self, code: str, messages: Iterable[str] = ()) -> None:
        super().__init__(code)
        self.code = code
        self.messages = list(messages)

    @classmethod
    def of_problems(cls, problems: list[Problem]) -> "ApiError":
        """Make the error of the first problem, with all of them as details."""
        return cls(problems[0].code, [str(problem) for problem in problems])

    def answer(self) -> JsonObject:
        """Return the body of the answer."""
        body: JsonObject = {"ok": False, "error": self.code}
        if self.messages:
            body["response_metadata"] = {"messages": self.messages}
        return body


class RateLimited(ApiError):
    """A call comes too soon; it answers HTTP 429 with `retry_after_s` in the header."""

    def __init__(self, retry_after_s: int) -> None:
        super().__init__("ratelimited")
        self.retry_after_s = retry_after_s


class MissingScope(ApiError):
    """The app was installed without any of the scopes that a call needs."""

    def __init__(self, needed: Iterable[str], provided: Iterable[str]) -> None:
        super().__init__("missing_scope")
        self._scopes = {"needed": ",".join(needed), "provided": ",".join(provided)}

    @override
    def answer(self) -> JsonObject:
        """Return the body of the answer, with the scopes needed and those there are."""
        return {**super().answer(), **self._scopes}


def _invalid(detail: str) -> ApiError:
    return ApiError("invalid_arguments", [f"[ERROR] {detail}"])


class Arguments:
    """Named arguments of a call; every reader raises ApiError on a wrong type."""

    def __init__(self, values: Mapping[str, object]) -> None:
        self._values = values

    def text(self, name: str) -> str | None:
        """Return a string, None when it is not there."""
        value = self._values.get(name)
        if value is None or isinstance(value, str):
            return value
        raise _invalid(f"must be a string [json-pointer:/{name}]")

    def need(self, name: str) -> str:
        """Return a string that has to be there."""
        value = self.text(name)
        if not value:
            raise _invalid(f"missing required field: {name}")
        return value

    def flag(self, name: str) -> bool:
        """Return a boolean, false when it is not there; forms write it as 1, 0, true or false."""
        value = self._values.get(name, False)
        if isinstance(value, str) and value.lower() in _YES + _NO:
            return value.lower() in _YES
        if isinstance(value, bool):
            return value
        raise _invalid(f"must be a boolean [json-pointer:/{name}]")

    def count(self, name: str, default: int, high: int) -> int:
        """Return a whole number from 1 to `high`; larger ones are cut to it."""
        value = self._values.get(name, default)
        if isinstance(value, str) and value.isascii() and value.isdigit():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise _invalid(f"must be a positive integer [json-pointer:/{name}]")
        return min(value, high)

    def structure(self, name: str, error: str = "invalid_arguments") -> object:
        """Return a JSON value, decoded when it came as a string; None when it is not there."""
        value = self._values.get(name)
        if not isinstance(value, str):
            return value
        try:
            return parse_json(value) if value else None
        except ValueError:
            raise ApiError(error, [f"[ERROR] not JSON [json-pointer:/{name}]"]) from None
