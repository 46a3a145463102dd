"""A look at the desk as others reach it: the process here, and the public address."""

from dataclasses import dataclass

import httpx

from bot.findings import Finding, failed, fine, skipped, warning
from bot.manifest import SLACK_PATH
from bot.settings import Settings

_TIMEOUT_S = 10.0
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - nothing is bound here


@dataclass(frozen=True, slots=True)
class RunningDesk:
    """Where the desk on this machine is, and what was found there."""

    url: str
    finding: Finding


def own_url(settings: Settings) -> str:
    """Return where this machine reaches the desk."""
    host = _EVERYWHERE.get(settings.host, settings.host)
    return f"http://[{host}]:{settings.port}" if ":" in host else f"http://{host}:{settings.port}"


def look_at_desk(settings: Settings) -> RunningDesk:
    """Ask the desk on this machine whether it is ready."""
    url = own_url(settings)
    try:
        answer = httpx.get(f"{url}/readyz", timeout=_TIMEOUT_S, trust_env=False)
        body = answer.json()
    except (httpx.HTTPError, ValueError):
        remedy = "Start it (make run, or python app.py), then look again."
        return RunningDesk(url, warning("desk", f"no desk answers at {url}", remedy))
    if answer.status_code == httpx.codes.OK:
        return RunningDesk(url, fine("desk", f"it is ready at {url}"))
    missing = ", ".join(str(one) for one in body.get("not_ready", [])) or "something"
    remedy = "Look at its log; the findings about what is not ready say more."
    says = f"it runs at {url}, but {missing} is not ready"
    return RunningDesk(url, failed("desk", says, remedy))


def look_at_public_url(settings: Settings, *, over_socket: bool) -> Finding:
    """Ask the public address for the desk, and for the door that Slack's requests come through."""
    url = (settings.public_url or "").rstrip("/")
    if not url:
        if settings.is_sandbox or over_socket:
            return skipped("public url", "nobody needs one")
        remedy = "Set PUBLIC_URL to the https address in the Slack app's manifest."
        return warning("public url", "it is not set, so nobody knows what Slack reaches", remedy)
    remedy = "See that the proxy in front of the desk passes /healthz and /slack/events on."
    try:
        health = httpx.get(f"{url}/healthz", timeout=_TIMEOUT_S)
        # Nobody signed this, so the only right answer is a refusal.
        door = httpx.post(f"{url}{SLACK_PATH}", timeout=_TIMEOUT_S, content=b"{}")
    except httpx.HTTPError as error:
        return failed("public url", f"{url}: {str(error) or type(error).__name__}", remedy)
    if health.status_code != httpx.codes.OK or _status(health) != "up":
        return failed("public url", f"{url}/healthz answers {health.status_code}", remedy)
    if not over_socket and door.status_code != httpx.codes.UNAUTHORIZED:
        says = f"{url}{SLACK_PATH} answers {door.status_code} to what nobody signed, not 401"
        return failed("public url", says, remedy)
    if not url.startswith("https://"):
        says = f"{url} reaches the desk, but Slack sends to https only"
        return warning("public url", says, "Put a proxy with a certificate in front of the desk.")
    return fine("public url", f"{url} reaches the desk")


def _status(answer: httpx.Response) -> object:
    try:
        body = answer.json()
    except ValueError:
        return None
    return body.get("status") if isinstance(body, dict) else None
