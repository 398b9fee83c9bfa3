"""Circles of imports: files of a package that import each other, directly or by way of others.

All imports count, also those inside of functions, but for those under `if TYPE_CHECKING:`. It is a program of its own
because import-linter compares packages: its `layers` do not look inside of one, and its `acyclic_siblings` add up the
imports of all files of a package, so that two packages may break it of which no two files do.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import grimp


def circles(graph: grimp.ImportGraph) -> list[list[str]]:
    """Strongly connected components of more than one file, each sorted."""
    upstream = {file: graph.find_upstream_modules(file) for file in graph.modules}
    together = {frozenset({file, *(one for one in upstream[file] if file in upstream[one])}) for file in upstream}
    return sorted(sorted(files) for files in together if len(files) > 1)


def lines(graph: grimp.ImportGraph, circle: list[str]) -> Iterator[str]:
    """A line for each file of a circle, below it the imports of others in it: line number and statement."""
    for file in circle:
        yield f"  {file}"
        others = graph.find_modules_directly_imported_by(file).intersection(circle)
        found = (line for other in others for line in graph.get_import_details(importer=file, imported=other))
        statements = {(line["line_number"], line["line_contents"].strip()) for line in found}
        yield from (f"    {number}: {text}" for number, text in sorted(statements))


def main(package: str) -> int:
    """Print each circle of an importable package; 1 if there is any."""
    graph = grimp.build_graph(package, exclude_type_checking_imports=True, cache_dir=None)
    found = circles(graph)
    for number, circle in enumerate(found, 1):
        print(f"circle {number}, {len(circle)} files:", *lines(graph, circle), sep="\n")
    print(f"circles: {len(graph.modules)} files, {graph.count_imports()} imports, {len(found)} circles")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
