"""Has a model write the functions of `stubs.py`, and judges what it writes by the calls in `cases.py`.

Each function is sampled until a sample passes, at most ten times; all at once, with one model. The local model is asked
to go on after the docstring, any other (`--model openai:gpt-5-mini`, or a name of your settings) in chat; where
`make code-model` was run, that is the model. `--from toolbox` takes the thirty functions of the folder beside this one,
and `--repair` tells the model what its last answer failed.
"""

import argparse
import ast
import contextlib
import json
import os
import re
import runpy
import sys
import tempfile
import textwrap
import time
from functools import partial
from pathlib import Path

import anyio

import bakeoff
from bakeoff.engine.mask import Masker
from bakeoff.errors import BakeoffError
from bakeoff.judge.python_tests import PROGRAM, Case, PythonTests
from bakeoff.model.protocol import Message, Request
from bakeoff.model.registry import model_for
from bakeoff.process.spawner import Spawner
from bakeoff.settings import load_settings
from bakeoff.workspace.sandbox.folder import Folder
from bakeoff.workspace.sandbox.policy import SandboxPolicy
from bakeoff.workspace.sandbox.sandbox import sandbox

HERE = Path(__file__).parent
CODE_MODELS = HERE.parents[1] / ".tools" / "models"
"""Where `make code-model` puts them."""
SAMPLES = 10
SEED = 1
STOP = ("```", "\ndef ", "\nclass ", "\nprint", "\n#", "\nif __name__", "\nassert")
ASK = "Write this Python function. Answer with the whole function in one code block, and nothing else.\n\n{stub}"


def best_model():
    """The largest model that `make code-model` has brought, or the small one."""
    files = sorted(CODE_MODELS.glob("*.gguf"), key=lambda file: file.stat().st_size)
    return f"local:{files[-1]}" if files else "local"


def read_cases(folder=HERE):
    """For each function calls and results."""
    return runpy.run_path(str(folder / "cases.py"))["CASES"]


def read_stubs(folder=HERE):
    """The source of each function by its name; it ends with its docstring, without a newline."""
    text = (folder / "stubs.py").read_text()
    functions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    return {function.name: ast.get_source_segment(text, function) for function in functions}


def completion(stub):
    """Raw completion: the model goes on where the stub ends."""
    return Request(prompt=stub, temperature=0.6, max_tokens=80, seed=SEED, stop=STOP)


def completed(stub, text):
    """The stub and its body: what is indented."""
    lines = text.split("\n")
    ends = (number for number, line in enumerate(lines) if number and line.strip() and not line.startswith((" ", "\t")))
    return "\n".join([stub + lines[0], *lines[1 : next(ends, len(lines))]]).rstrip() + "\n"


def chat(stub):
    """A request in words."""
    return Request((Message("user", ASK.format(stub=stub)),), seed=SEED)


def answered(stub, text):
    """The first code block of an answer, or all of it; a body alone is put below the stub."""
    block = re.search(r"```[a-z]*\n(.*?)```", text, re.DOTALL)
    code = block[1] if block else text
    if re.search(r"^def ", code, re.MULTILINE):
        return code
    return f"{stub}\n{textwrap.indent(textwrap.dedent(code), '    ')}"


class Demo:
    """One model that writes, and the processes that judge, in a sandbox."""

    def __init__(self, model, processes, box, *, raw, say, folder=HERE, repair=False):
        self.model, self.processes, self.box, self.say = model, processes, box, say
        self.request, self.program = (completion, completed) if raw else (chat, answered)
        self.stubs, self.cases = read_stubs(folder), read_cases(folder)
        strategy = bakeoff.RepairTemplateStrategy if repair else bakeoff.RejectionSamplingStrategy
        self.strategy = strategy(loop_budget=SAMPLES)
        self.since = time.perf_counter()

    async def solve(self, name):
        """Sample one function until a sample passes its tests."""
        stub = self.stubs[name]
        cases = [Case(arguments, expected) for arguments, expected in self.cases[name]]
        tests = PythonTests(
            name,
            cases,
            processes=self.processes,
            source=lambda text: self.program(stub, text),
            place=self.box.command,
        )
        result = await bakeoff.sample(
            self.request(stub),
            [tests],
            strategy=self.strategy,
            model=self.model,
        )
        best = dict(result.result_validations).get(tests)
        found = {
            "name": name,
            "solved": result.success,
            "samples": len(result.attempts),
            "seconds": round(time.perf_counter() - self.since, 2),
            "passed": best.receipt["passed"] if best is not None and best.receipt else 0,
            "tests": len(cases),
            "why": _why(result, best),
            "code": self.program(stub, result.result) if result.success else None,
        }
        word = "solved " if result.success else "gave up"
        self.say(f"  {word}  {name:14} {_samples(found):>10} {found['seconds']:6.1f} s  {found['why']}".rstrip())
        return found


async def solve_all(model_name, names, say, folder=HERE, repair=False):
    """Have these functions written at once, all if there is no name; what came of it."""
    settings = load_settings(Path.cwd())
    async with contextlib.AsyncExitStack() as stack:
        place = stack.enter_context(tempfile.TemporaryDirectory(prefix="stubs-"))
        box = await sandbox(Folder(os.path.realpath(place)), SandboxPolicy(settings.sandbox, reads=[PROGRAM]))
        spawner = Spawner(token=f"stubs-{os.getpid()}", base_env=os.environ, masker=Masker())
        processes = await stack.enter_async_context(spawner)
        model = await stack.enter_async_context(model_for(model_name, settings))
        demo = Demo(model, processes, box, raw=model_name == "local", say=say, folder=folder, repair=repair)
        names = names or list(demo.stubs)
        say(f"{len(names)} functions, the model {shown(model_name)}, at most {SAMPLES} samples of each:")
        say(f"judged out of process, protected from what it writes: {', '.join(protected(box.protection))}")
        found = await bakeoff.fan_out(demo.solve, names, max_concurrency=len(names), on_halt="cancel")
        seconds = round(time.perf_counter() - demo.since, 2)
    return {
        "model": model_name,
        "sandbox": box.protection.receipt(),
        "solved": sum(one["solved"] for one in found),
        "samples": sum(one["samples"] for one in found),
        "seconds": seconds,
        "functions": found,
    }


def shown(model_name):
    """The model's name; of a file without its folder."""
    kind, colon, rest = model_name.partition(":")
    return f"local:{Path(rest).name}" if (kind, colon) == ("local", ":") else model_name


def protected(protection):
    """What is protected, in words."""
    kinds = ("files", "network", "processes", "limits")
    strengths = {kind: getattr(protection, kind).strength for kind in kinds}
    return [f"{kind} ({strength})" for kind, strength in strengths.items() if strength] or ["nothing"]


def table(report):
    """The report for people."""
    lines = [f"{'function':14} {'verdict':8} {'samples':>7} {'seconds':>8}  tests passed"]
    for one in report["functions"]:
        verdict = "solved" if one["solved"] else "-"
        passed = f"{one['passed']} of {one['tests']}" + ("" if one["solved"] else " at best")
        lines.append(f"{one['name']:14} {verdict:8} {one['samples']:7} {one['seconds']:8.1f}  {passed}")
    count = len(report["functions"])
    lines.append(
        f"{report['solved']} of {count} solved with {report['samples']} samples in {report['seconds']:.1f} s, "
        "counted from the start of the model"
    )
    return "\n".join(lines)


def _why(result, best):
    """Why there is no solution: what the best failure failed, or the error of the first attempt."""
    if result.success:
        return ""
    if best is not None:
        return best.reason or best.error
    return "; ".join(str(error) for error in [*result.errors.values()][:1])


def _first(failure):
    """The first of the failures of a fan-out, in itself."""
    while isinstance(failure, (BaseExceptionGroup, bakeoff.FanOutError)):
        failure = failure.exceptions[0] if isinstance(failure, BaseExceptionGroup) else failure.__cause__
    return failure


def _samples(one):
    return f"{one['samples']} sample{'s' * (one['samples'] != 1)}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="functions to write; all if left out")
    parser.add_argument(
        "--model", help="its name: local, openai:MODEL, ... (default: what `make code-model` brought, else local)"
    )
    parser.add_argument(
        "--from", dest="folder", default=HERE.name, metavar="FOLDER", help="folder beside this one with stubs and cases"
    )
    parser.add_argument("--repair", action="store_true", help="tell the model what its last answer failed")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the solved functions there")
    parser.add_argument("--json", action="store_true", help="print one JSON object at the end, the rest to stderr")
    options = parser.parse_args()
    folder = HERE.parent / Path(options.folder).name
    if not (folder / "cases.py").exists():
        parser.error(f"there are no functions in {folder}")
    if unknown := [name for name in options.names if name not in (known := read_stubs(folder))]:
        parser.error(f"there is no function {unknown[0]}: there are {', '.join(known)}")
    model = options.model or best_model()
    if options.repair and model == "local":
        parser.error("the local model goes on with a text, and cannot be told what was wrong: see `make code-model`")
    stream = sys.stderr if options.json else sys.stdout
    report, status = None, 1
    try:
        say = partial(print, file=stream, flush=True)
        report = anyio.run(solve_all, model, options.names, say, folder, options.repair)
    except* KeyboardInterrupt:
        status = 130
    except* BakeoffError as group:
        print(f"Error: {_first(group)}", file=sys.stderr)
    if report is None:
        return status
    if options.write:
        options.write.write_text("\n\n".join(one["code"] for one in report["functions"] if one["solved"]))
    print(f"\n{table(report)}", file=stream)
    if options.json:
        print(json.dumps(report))
    return 0 if report["solved"] else 3


if __name__ == "__main__":
    sys.exit(main())
