"""Signed requests to the bot, given up after three seconds as Slack does."""

import asyncio
import hashlib
import hmac
import json
import ssl
from dataclasses import dataclass
from urllib.parse import urlencode

import httpx

from bot.sandbox.json_shape import JsonObject
from bot.sandbox.slack_config import SlackSandboxConfig

FORM = "application/x-www-form-urlencoded"
JSON = "application/json"
_OK = 200


@dataclass(frozen=True)
class Answer:
    """What the bot answered: status 0 with a reason in `body` when nothing came back."""

    status: int
    body: str
    ms: float

    @property
    def acknowledged(self) -> bool:
        """Whether Slack takes this as an ack."""
        return self.status == _OK


def sign(signing_secret: str, timestamp: str, body: bytes) -> str:
    """Return Slack's v0 signature of the raw body."""
    base = b"v0:" + timestamp.encode() + b":" + body
    return "v0=" + hmac.new(signing_secret.encode(), base, hashlib.sha256).hexdigest()


class Delivery:
    """Sends what people do to the bot's one URL."""

    def __init__(self, config: SlackSandboxConfig) -> None:
        self._config = config
        # The bot is on this machine and speaks plain HTTP. A context that trusts nobody is made in
        # no time, unlike the default one, and every request has a client of its own.
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

    async def interaction(self, payload: JsonObject) -> Answer:
        """Send an interactive payload."""
        return await self._send(urlencode({"payload": json.dumps(payload)}).encode(), FORM)

    async def command(self, fields: JsonObject) -> Answer:
        """Send a slash command."""
        return await self._send(urlencode(fields).encode(), FORM)

    async def event(self, callback: JsonObject) -> Answer:
        """Send an event once: the retries of the Events API are not part of the stand-in."""
        return await self._send(json.dumps(callback).encode(), JSON)

    async def _send(self, body: bytes, content_type: str) -> Answer:
        config = self._config
        started = config.monotonic()
        status, text = 0, "timeout"
        try:
            async with asyncio.timeout(config.ack_timeout_s):
                response = await self._post(body, content_type)
                status, text = response.status_code, response.text
        except TimeoutError:
            pass
        except httpx.RequestError as error:
            text = str(error) or type(error).__name__
        return Answer(status, text, round((config.monotonic() - started) * 1_000, 1))

    async def _post(self, body: bytes, content_type: str) -> httpx.Response:
        timestamp = str(int(self._config.now().timestamp()))
        headers = {
            "Content-Type": content_type,
            "User-Agent": "Slackbot 1.0 (+https://api.slack.com/robots)",
            "X-Slack-Request-Timestamp": timestamp,
            "X-Slack-Signature": sign(self._config.signing_secret, timestamp, body),
        }
        async with httpx.AsyncClient(verify=self._tls, trust_env=False, timeout=None) as client:  # noqa: S113 - the whole request has a deadline above
            return await client.post(self._config.events_url, content=body, headers=headers)
