"""What scanners find, and what that stands for: on small texts, and beside real resolvers on real packages."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from bakeoff.plan.decompose.graph import go as go_language
from bakeoff.plan.decompose.graph import javascript, python
from bakeoff.plan.decompose.graph.import_graph import import_graph, language_of

Pairs = set[tuple[str, str]]


def graph_of(texts: dict[str, str]) -> dict[str, list[str]]:
    """The import graph of files with these texts."""
    raw = {path: text.encode() for path, text in texts.items()}
    specs = {path: language.scan(raw[path]) for path in raw if (language := language_of(path))}
    return {path: sorted(found) for path, found in import_graph(specs, list(raw), raw.get).items()}


def test_python_statements():
    text = b"""
import a, b.c as d  # comment
import e;  import f
from g import (h,  # one
    i as j,
)
from . import k
from ..l.m import *
from .import n
from o import \\
    p, q
\tfrom r import s
importlib.import_module("no")
'''
>>> import no
'''
# import no
x = "import no"
important = 1
import a
import not an import
from broken import (never closed
"""
    assert python.scan(text) == [
        "a", "b.c", "e", "g:h", "g:i", ".:k", "..l.m:*", ".:n", "o:p", "o:q", "r:s", "not",
    ]  # fmt: skip


def test_python_files():
    assert graph_of(
        {
            "src/pkg/__init__.py": "from .a import f\nfrom . import sub\n",
            "src/pkg/a.py": "import pkg.b\nfrom pkg import sub, nothing\nimport os, pkg.none\n",
            "src/pkg/b.py": "from .a import f\nfrom .....a import up\nimport b\nfrom pkg.b import me\n",
            "src/pkg/sub/__init__.py": "from .. import b\nfrom . import stub\n",
            "src/pkg/sub/stub.pyi": "",
            "tests/helper.py": "",
            "tests/test_a.py": "import helper\nfrom pkg.a import *\nfrom space.inner import mod\n",
            "other/helper.py": "import helper\n",
            "other/use.py": "import helper\n",
            "space/inner/mod.py": "",
            "top.py": "from . import setup\nfrom tests import helper\n",
            "setup.py": "",
        }
    ) == {
        "src/pkg/__init__.py": ["src/pkg/a.py", "src/pkg/sub/__init__.py"],
        "src/pkg/a.py": ["src/pkg/__init__.py", "src/pkg/b.py", "src/pkg/sub/__init__.py"],
        "src/pkg/b.py": ["src/pkg/a.py"],
        "src/pkg/sub/__init__.py": ["src/pkg/b.py", "src/pkg/sub/stub.pyi"],
        "tests/test_a.py": ["space/inner/mod.py", "src/pkg/a.py", "tests/helper.py"],
        "other/use.py": ["other/helper.py"],
        "top.py": ["setup.py", "tests/helper.py"],
    }


def test_javascript_files():
    config = """{ // comment
      "compilerOptions": {"baseUrl": ".", "paths": {"@/*": ["src/*"], "exact": ["src/a.ts"], "bad": "no list"},},
    }"""
    assert graph_of(
        {
            "tsconfig.json": config,
            "web/tsconfig.json": "[]",
            "lib/tsconfig.json": '{"compilerOptions": {}}',
            "broken/jsconfig.json": '{"compilerOptions": 1}',
            "src/a.ts": "import {x} from './b.js'\nimport type {\n y\n} from '@/c'\nexport * from \"../lib\"\n",
            "src/b.ts": "// import './no'\n/* from './a' */ const u = 'http://x'; require('./c'); import('./d.vue')\n",
            "src/c.tsx": "import 'exact'; import 'src/b'; import 'react'; import '/abs'; import '#inner'; import ''\n",
            "src/d.vue": "<script>import x from './data.json?raw'</script>",
            "src/data.json": "{}",
            "lib/index.js": "require.resolve('./none'); import '@org/pkg'; import '@org/pkg/deep'; import 'plain/x'\n",
            "packages/one/package.json": '{"name": "@org/pkg", "main": "./dist/x.js", "source": "./src/main.ts"}',
            "packages/one/src/main.ts": "import '.'\n",
            "packages/one/src/index.ts": "",
            "packages/one/src/deep.ts": "import '..'\n",
            "packages/two/package.json": "not json",
            "plain.js": "nothing here",
        }
    ) == {
        "src/a.ts": ["lib/index.js", "src/b.ts", "src/c.tsx"],
        "src/b.ts": ["src/c.tsx", "src/d.vue"],
        "src/c.tsx": ["src/a.ts", "src/b.ts"],
        "src/d.vue": ["src/data.json"],
        "lib/index.js": ["packages/one/src/deep.ts", "packages/one/src/main.ts"],
        "packages/one/src/main.ts": ["packages/one/src/index.ts"],
    }
    assert javascript.scan(b"nothing of the kind") == []
    assert javascript.Resolver(["index.js", "a.js"], lambda path: None).target("a.js", ".") == "index.js"


def test_go_files():
    assert go_language.scan(b'package a\n\nimport "x/y"\n\nimport (\n\tz "m/n" // why\n\t// "no"\n\t_ `o`\n)\n') == [
        "x/y", "m/n", "o",
    ]  # fmt: skip
    assert go_language.scan(b"import") == []
    assert graph_of(
        {
            "go.mod": "// words\nmodule example.com/m\n",
            "main.go": 'package main\nimport ("example.com/m/util"; "fmt")\nimport "example.com/m/none"\n',
            "util/a.go": 'package util\nimport "example.com/m/tools/v2/x"\n',
            "util/util.go": 'package util\nimport "example.com/m/util"\n',
            "util/util_test.go": 'package util\nimport "example.com/m"\n',
            "tools/go.mod": 'module "example.com/m/tools/v2"\n',
            "tools/x/first.go": "package x\n",
            "tools/x/second.go": "package x\n",
            "broken/go.mod": "",
        }
    ) == {
        "main.go": ["util/util.go"],
        "util/a.go": ["tools/x/first.go"],
        "util/util_test.go": ["main.go"],
    }


def agreement(ours: Pairs, real: Pairs) -> tuple[float, float]:
    """Precision and recall."""
    return len(ours & real) / len(ours), len(ours & real) / len(real)


def found_in(root: Path, paths: Iterable[str], wanted: Iterable[str]) -> Pairs:
    """Who imports whom, by our scan of the files `wanted`, among all `paths`."""
    specs = {path: language.scan((root / path).read_bytes()) for path in wanted if (language := language_of(path))}
    graph = import_graph(specs, list(paths), lambda path: (root / path).read_bytes())
    return {(path, other) for path, others in graph.items() for other in others}


def tree(root: Path) -> list[str]:
    return [path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()]


def test_python_beside_grimp_on_django(django: Path):
    code = (
        "import sys, json, grimp\nsys.path.insert(0, sys.argv[1])\n"
        "graph = grimp.build_graph('django', cache_dir=None)\n"
        "print(json.dumps([(a, b) for a in graph.modules for b in graph.find_modules_directly_imported_by(a)]))"
    )
    done = subprocess.run([sys.executable, "-c", code, django], capture_output=True, check=True, cwd=django)

    def file(module: str) -> str:
        place = module.replace(".", "/")
        return f"{place}/__init__.py" if (django / place).is_dir() else f"{place}.py"

    real = {(file(a), file(b)) for a, b in json.loads(done.stdout)}
    paths = tree(django)
    precision, recall = agreement(found_in(django, paths, (path for path in paths if path.endswith(".py"))), real)
    assert len(real) > 2500
    assert precision >= 0.9
    assert recall >= 0.9


RESOLVE = """
const ts = require(process.argv[1]), fs = require('fs'), path = require('path'), root = process.argv[2]
const options = {allowJs: true, moduleResolution: ts.ModuleResolutionKind.Bundler, module: ts.ModuleKind.ESNext}
const found = []
for (const file of JSON.parse(fs.readFileSync(0, 'utf8'))) {
  const at = path.join(root, file)
  for (const {fileName} of ts.preProcessFile(fs.readFileSync(at, 'utf8'), true, true).importedFiles) {
    const real = ts.resolveModuleName(fileName, at, options, ts.sys).resolvedModule
    if (real) found.push([file, path.relative(root, real.resolvedFileName)])
  }
}
console.log(JSON.stringify(found))
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node to run TypeScript's resolver")
def test_typescript_beside_its_compiler_on_rxjs(rxjs: Path, typescript: Path):
    paths = tree(rxjs)
    wanted = [path for path in paths if path.startswith("src/") and language_of(path)]
    argv = ["node", "-e", RESOLVE, str(typescript), str(rxjs)]
    done = subprocess.run(argv, input=json.dumps(wanted).encode(), capture_output=True, check=True)
    real = {(a, b) for a, b in json.loads(done.stdout) if b in set(paths) and a != b}
    precision, recall = agreement(found_in(rxjs, paths, wanted), real)
    assert len(real) > 1000
    assert precision >= 0.9
    assert recall >= 0.9


@pytest.mark.soak
@pytest.mark.skipif("BAKEOFF_SOAK" not in os.environ, reason="75 MB to fetch: run by make soak")
def test_go_beside_go_list_on_its_own_commands(go: Path, tmp_path: Path):
    root = go / "src" / "cmd"
    for folder in ("bin", "pkg/tool"):
        for program in (go / folder).rglob("*"):
            program.chmod(0o755)
    environment = {
        **os.environ, "GOROOT": str(go), "GOFLAGS": "-mod=vendor", "GOPROXY": "off", "GOTOOLCHAIN": "local",
        "GOCACHE": str(tmp_path), "GOWORK": "off",
    }  # fmt: skip
    argv = [go / "bin/go", "list", "-e", "-json=Dir,ImportPath,GoFiles,CgoFiles,Imports", "./..."]
    done = subprocess.run(argv, cwd=root, env=environment, capture_output=True, check=True, text=True)
    packages = json.loads("[" + done.stdout.replace("}\n{", "},{") + "]")
    folder = {package["ImportPath"]: os.path.relpath(package["Dir"], root) for package in packages}
    edges = [(one["ImportPath"], other) for one in packages for other in one.get("Imports", ())]
    real = {(folder[one], folder[other]) for one, other in edges if other in folder}
    built = [
        f"{folder[one['ImportPath']]}/{name}".removeprefix("./")
        for one in packages
        for name in (*one.get("GoFiles", ()), *one.get("CgoFiles", ()))
    ]
    ours = {(os.path.dirname(a) or ".", os.path.dirname(b) or ".") for a, b in found_in(root, tree(root), built)}
    precision, recall = agreement(ours, real)
    assert len(real) > 500
    assert precision >= 0.9
    assert recall >= 0.9
