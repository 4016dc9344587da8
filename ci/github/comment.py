"""Posts a comment on a pull request, in place of the one that it posted before.

The file is what `highbar check --output github-comment=FILE` wrote. The environment says the rest: GH_REPO, NUMBER and
GH_TOKEN; AUTHOR, who posts with that token; NAME, where several gates comment on one pull request. Needs gh.

Only a comment of AUTHOR is replaced: whoever else writes the hidden line into theirs could change it afterward.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

MARKER = "<!-- highbar -->"


def gh(*arguments: str, body: str | None = None) -> str:
    """What `gh api` answers."""
    command = ["gh", "api", *arguments]
    return subprocess.run(command, input=body, check=True, text=True, stdout=subprocess.PIPE).stdout


def documents(text: str) -> Iterator[Any]:
    """The JSON documents that stand one after another: gh prints one for each page."""
    rest = text.strip()
    while rest:
        document, end = json.JSONDecoder().raw_decode(rest)
        rest = rest[end:].lstrip()
        yield document


def main(file: str) -> None:
    """Replaces the last comment that begins with the marker, or posts the first."""
    repository, number = os.environ["GH_REPO"], int(os.environ["NUMBER"])
    name = "".join(char for char in os.environ.get("NAME", "") if char.isalnum() or char in " _.")[:30]
    marker = f"<!-- highbar {name} -->" if name else MARKER
    body = Path(file).read_text("utf-8")
    if not body.startswith(MARKER):
        sys.exit(f"{file} is no comment: `highbar check --output github-comment={file}` writes one")
    body = marker + body[len(MARKER) :]
    pages = documents(gh("--paginate", f"repos/{repository}/issues/{number}/comments?per_page=100"))
    ours = [
        comment["id"]
        for page in pages
        for comment in page
        if (comment["user"] or {}).get("login") == os.environ["AUTHOR"] and comment["body"].startswith(marker)
    ]
    place = f"repos/{repository}/issues/{f'comments/{ours[-1]}' if ours else f'{number}/comments'}"
    gh("--method", "PATCH" if ours else "POST", place, "--input", "-", body=json.dumps({"body": body}))


if __name__ == "__main__":
    main(sys.argv[1])
