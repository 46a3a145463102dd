"""What settings alone tell about payments and the chat."""

from bot.findings import Finding, fine, warning
from bot.settings import Settings


def payments(settings: Settings) -> Finding:
    """Say where refunds go."""
    if settings.is_sandbox:
        return fine("payments", "the built-in ledger; no real money is near")
    if not settings.webhook_secrets:
        return warning(
            "payments",
            "the built-in ledger books refunds, and the provider's events have no way in",
            "Set STRIPE_WEBHOOK_SECRET, if a provider is to tell of refunds that come back.",
        )
    return fine("payments", "the built-in ledger books refunds; the provider's events are taken in")


def widget(settings: Settings) -> Finding:
    """Say whether the shop can sign its customers in to the chat."""
    if settings.is_sandbox:
        return fine("chat", "the sandbox's shop signs its customers in")
    if settings.widget_jwt_secret is None and settings.widget_jwt_public_key is None:
        return warning(
            "chat",
            "no customer can sign in, and an anonymous visitor is refunded nothing",
            "Set WIDGET_JWT_SECRET or WIDGET_JWT_PUBLIC_KEY to what the shop signs with.",
        )
    return fine("chat", "the shop signs its customers in")
