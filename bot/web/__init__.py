"""HTTP: approvals API, customer chat, health and metrics."""
