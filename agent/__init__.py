"""The story of one customer sentence, one file name a line.

steps/receive.py    the customer's message becomes an event and a queued run
steps/turn.py       the model answers and proposes tool calls, under a fenced lease
steps/gate.py       code says run now, wait for people, or refuse
steps/announce.py   what the world must hear leaves the outbox: cards, updates, alerts
steps/decide.py     one vote by one person, whichever door it came through
steps/execute.py    the stored payload is carried out once, and the outcome written down
steps/resume.py     the outcome reaches the parked run as a system message
steps/tell.py       the customer reads the truth about it
steps/escalate.py   what waits is brought up again, and its deadline is met
steps/sweep.py      what time and crashes left behind is tidied
"""
