"""Outbound adapters, one vendor a file."""
