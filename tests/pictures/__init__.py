"""Every card and form that Slack can show of a request, as Block Kit JSON to be looked at.

`python -m tests.pictures FOLDER` writes one file a kind; each is a list of
`{"label": …, "payload": …}`, which Slack's Block Kit Builder and other viewers take by the piece.
"""
