"""A local stand-in for Slack and a demo page, reached over HTTP only."""
