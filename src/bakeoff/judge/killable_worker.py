"""The program of a worker of `killable`: reads jobs and writes answers, a line of JSON each.

The kernel ends it by SIGALRM when a job takes too long, whatever it is doing then. It ends itself when its standard
input does, so it does not outlive the process that started it by more than one job.
"""

import json
import re
import signal
import sys


def match(job: dict) -> dict:  # type: ignore[type-arg]
    """Whether a text matches: `pattern`, `flags`, `how` (a method of a pattern), `text`."""
    return {"matched": getattr(re.compile(job["pattern"], job["flags"]), job["how"])(job["text"]) is not None}


def schema(job: dict) -> dict:  # type: ignore[type-arg]
    """What a JSON Schema has against a value: `schema`, `value`, `path` (where modules are found)."""
    sys.path[:] = job["path"]
    try:
        import jsonschema
    except ImportError:
        return {"missing": True}
    kind = jsonschema.validators.validator_for(job["schema"], default=jsonschema.Draft202012Validator)
    try:
        kind.check_schema(job["schema"])
    except jsonschema.SchemaError as failure:
        return {"bad_schema": failure.message}
    found = sorted(kind(job["schema"]).iter_errors(job["value"]), key=lambda error: [str(part) for part in error.path])
    return {"errors": [f"{error.json_path}: {error.message}" for error in found[:20]]}


def main() -> None:
    """Answer jobs until there are no more."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for line in sys.stdin.buffer:
        job = json.loads(line)
        signal.setitimer(signal.ITIMER_REAL, job["timeout"])
        try:
            answer = {"match": match, "schema": schema}[job["do"]](job)
        except Exception as failure:
            answer = {"raised": f"{type(failure).__name__}: {failure}"}
        signal.setitimer(signal.ITIMER_REAL, 0)
        sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
