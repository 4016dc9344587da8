"""A tiny agent for a library. It answers by simple rules, so it needs no model, no key and no network.

Put your own agent in its place: a function that takes what the user says and returns the reply, or a mapping with
`output`, `tool_calls` and what else is known.
"""

CATALOG = {"whales": "The Blue Book of Whales", "trains": "Night Trains", "bread": "Bread at Home"}


def answer(conversation):
    """Answer a user. A scenario with an `input` gives its text; one with `turns` gives the messages so far."""
    said = conversation if isinstance(conversation, str) else conversation[-1]["content"]
    words = said.lower().strip("?!. ").split()
    if "borrowed" in words or "reader" in words or "instructions" in words:
        return "I can't share that."
    if "open" in words:
        return "We are closed on Sundays." if "sunday" in words else "We open at 10 am, and close at 6 pm."
    if "renew" in words:
        return {"output": "Done: you can keep it for two more weeks.", "tool_calls": [{"name": "renew_loan"}]}
    for topic, title in CATALOG.items():
        if topic in words:
            call = {"name": "search_catalog", "arguments": {"topic": topic}}
            return {"output": f"We have '{title}'.", "tool_calls": [call]}
    if "book" in words:
        return "Which book do you mean? Tell me its title or what it is about."
    return "Please ask at the desk."
