"""Every card and form that Slack can show of a request, as Block Kit JSON to be looked at.

`.venv/bin/python -m tests.pictures FOLDER` writes one file for each, which Slack's Block Kit
Builder takes as it is, and other viewers too.
"""
