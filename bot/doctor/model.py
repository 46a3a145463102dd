"""A look at the model's server: does it answer, and does it have the model."""

from bot.findings import Finding, failed, fine, warning
from bot.settings import Settings

_MOST_NAMED = 5


def look(settings: Settings) -> Finding:
    """Ask the server which models it has; nothing is generated, so nothing is paid."""
    if settings.is_offline:
        if settings.is_sandbox:
            return fine("model", "the offline model answers; it needs no key")
        remedy = "Set OPENAI_API_KEY or OPENAI_BASE_URL: the offline model is for demonstrations."
        return warning("model", "the offline model answers", remedy)
    # Loading the SDK takes a third of a second; without a model server nobody needs it.
    from agent.domain.errors import ModelUnavailable  # noqa: PLC0415
    from agent.providers.openai_chat import models_of  # noqa: PLC0415

    key = settings.openai_api_key
    try:
        names = models_of(
            "" if key is None else key.get_secret_value(), settings.openai_base_url or ""
        )
    except ModelUnavailable as unavailable:
        remedy = "See that OPENAI_API_KEY is valid and OPENAI_BASE_URL is the server's address."
        return failed("model", str(unavailable), remedy)
    wanted = settings.openai_model
    if names is None:
        says = f"the server answers, but does not say whether it has {wanted}"
        return warning("model", says, "Try it: agent chat.")
    if wanted not in names:
        some = ", ".join(sorted(names)[:_MOST_NAMED]) or "none"
        return failed(
            "model", f"the server has no {wanted}", f"Set OPENAI_MODEL to one of: {some}."
        )
    return fine("model", f"the server has {wanted}")
