"""`python -m scripted_model SCRIPT.json`: prints its address and serves until interrupted."""

from __future__ import annotations

import argparse
import threading
from pathlib import Path

from scripted_model.script import by_turn, from_json, in_order
from scripted_model.server import ScriptedModel


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m scripted_model")
    parser.add_argument("script", help="JSON file with a list of replies; - for standard input")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--by-turn", action="store_true", help="choose by the tool results in each conversation")
    parser.add_argument("--no-tools", action="store_true", help="script requests that offer no shell tool too")
    options = parser.parse_args()
    text = Path("/dev/stdin" if options.script == "-" else options.script).read_text()
    replies = from_json(text)
    script = by_turn(*replies) if options.by_turn else in_order(*replies)
    with ScriptedModel(script, tools=not options.no_tools, port=options.port) as model:
        print(model.url, flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            pass


main()
