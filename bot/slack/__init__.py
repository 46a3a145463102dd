"""Slack: listeners, cards, modals, people and the client."""
