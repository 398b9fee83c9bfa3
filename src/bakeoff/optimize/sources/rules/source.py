"""The rules as a source of candidates: each alone, all together, and those together that were found faster."""

from __future__ import annotations

import ast
import builtins
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from bakeoff.optimize.candidate import Candidate
from bakeoff.optimize.errors import InvalidCandidateError
from bakeoff.optimize.source_code.definitions import locate
from bakeoff.optimize.source_code.editing import apply_definition
from bakeoff.optimize.sources.rules.catalogue import RULES
from bakeoff.optimize.sources.rules.facts.subject import Subject
from bakeoff.optimize.sources.rules.facts.syntax import names_in
from bakeoff.optimize.sources.rules.helpers import functions_among, parsed, reached, with_helpers
from bakeoff.optimize.sources.rules.rewriting import UnfitError, rewritten
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule
from bakeoff.optimize.sources.rules.support import IMPORTS, NODES, TEXT, needed
from bakeoff.optimize.sources.source import Context, Failure, ProfileLine

LARGEST = 40_000
"""Characters of a function beyond which no rule is tried: each looks at the whole of it many times."""


@dataclass(frozen=True, slots=True)
class Version:
    """The file after some rules.

    Attributes:
        source: its bytes.
        applied: names of the rules, in the order in which they came.
        assumes: what they could not see.
    """

    source: bytes
    applied: tuple[str, ...] = ()
    assumes: tuple[str, ...] = ()


def apply_rule(rule: Rule, version: Version, qualname: str, types: Mapping[str, Sequence[str]]) -> Version | None:
    """The version after one rule at every place where it fits; None where it fits nowhere."""
    found: Version | None = None
    for _ in range(8):  # one place can uncover or cover another: they are looked for again after each
        after = _once(rule, found or version, qualname, types)
        if after is None:
            break
        found = after
    return found


def _once(rule: Rule, version: Version, qualname: str, types: Mapping[str, Sequence[str]]) -> Version | None:
    subject = _subject(version.source, qualname, tuple((name, tuple(seen)) for name, seen in types.items()))
    if len(subject.definition.text) > LARGEST or subject.opaque:
        return None
    for rewrite in rule.find(subject):
        try:
            text = _text(subject, rewrite)
            source = apply_definition(version.source, qualname, text)
        except (UnfitError, InvalidCandidateError):
            continue
        if source != version.source:
            applied = version.applied if rule.name in version.applied else (*version.applied, rule.name)
            return Version(source, applied, tuple(dict.fromkeys([*version.assumes, *rewrite.assumes])))
    return None


@lru_cache(maxsize=4)
def _subject(source: bytes, qualname: str, types: tuple[tuple[str, tuple[str, ...]], ...]) -> Subject:
    """All rules look at the same tree, which none of them changes."""
    return Subject(locate(parsed(source), qualname), dict(types))


def _text(subject: Subject, rewrite: Rewrite) -> str:
    text = rewritten(subject.file, rewrite.replacements)
    return "\n".join([*rewrite.imports, *_support(subject, text), *rewrite.helpers, text])


def _support(subject: Subject, text: str) -> Iterator[str]:
    """The support functions that a new text calls, and what they import.

    Raises:
        UnfitError: the file means something else by one of their names, or by that of a function built in.
    """
    new, old = (
        Counter(each.id for each in ast.walk(tree) if isinstance(each, ast.Name))
        for tree in (ast.parse(text), subject.tree)
    )
    called = needed(new - old)
    names = names_in(*(NODES[name] for name in called))
    if any(subject.taken(NODES[name]) for name in called):
        raise UnfitError
    if not subject.builtin(*(name for name in names if hasattr(builtins, name))):
        raise UnfitError
    yield from (line for name, line in IMPORTS.items() if name in names)
    yield from (ast.get_source_segment(TEXT, NODES[name]) or "" for name in called)


def fixed_point(version: Version, qualname: str, types: Mapping[str, Sequence[str]], rules: Sequence[Rule]) -> Version:
    """All rules in their order, again and again until none fits any more, at most four times."""
    for _ in range(4):
        before = version.source
        for rule in rules:
            version = apply_rule(rule, version, qualname, types) or version
        if version.source == before:
            break
    return version


class RulesSource:
    """Proposes rewrites; needs no key, no network and no tests.

    Args:
        rules: which ones, in the order in which they are applied together.
        most: most proposals for one function.
    """

    name = "rules"
    reads = frozenset({"calls", "code"})

    def __init__(self, rules: Sequence[Rule] = RULES, most: int = 24) -> None:
        self.rules = rules
        self.most = most

    async def propose(self, context: Context) -> AsyncIterator[Candidate]:
        """Everything together first, with helpers, without and with gambles; then rules one by one.

        Passes on TargetError.
        """
        for version in self.versions(context):
            yield self._candidate(context, version)

    async def repair(self, context: Context, failures: Sequence[Failure]) -> AsyncIterator[Candidate]:
        """Everything together without one of the rules that went into what failed."""
        for failure in failures:
            used = self._used(failure.candidate)
            if len(used) < 2:
                continue
            for name in used:
                rules = [rule for rule in self.rules if rule.name in used and rule.name != name]
                version = self._everywhere(context, Version(context.source), rules)
                if version.applied:
                    yield self._candidate(context, version, failure.candidate.id)

    async def refine(
        self, context: Context, winners: Sequence[Candidate], profile: Sequence[ProfileLine]
    ) -> AsyncIterator[Candidate]:
        """The rules that won, together; and all rules on top of each winner, whoever proposed it."""
        names = {name for winner in winners for name in self._used(winner)}
        if len(winners) > 1 and names:
            rules = [rule for rule in self.rules if rule.name in names]
            version = self._everywhere(context, Version(context.source), rules)
            if version.applied:
                yield self._candidate(context, version, winners[0].id)
        for winner in winners:
            content = winner.files.get(str(context.target.path))
            if content is not None:
                start = Version(content, self._used(winner), winner.assumes)
                version = self._everywhere(context, start, self.rules)
                if version.source != content:
                    yield self._candidate(context, version, winner.id)

    async def adapt(self, context: Context, lineage: Sequence[Candidate]) -> AsyncIterator[Candidate]:
        """Nothing: a fixed point stays one."""
        for _ in ():
            yield lineage[-1]

    def versions(self, context: Context) -> Iterator[Version]:
        """Versions that are proposed, without duplicates. Passes on TargetError."""
        seen = {context.source}
        for version in self._each(context):
            if version.source not in seen and len(seen) <= self.most:
                seen.add(version.source)
                yield version

    def _each(self, context: Context) -> Iterator[Version]:
        start, qualname = Version(context.source), context.target.qualname
        plain = [rule for rule in self.rules if not rule.last]
        yield self._everywhere(context, start, [rule for rule in self.rules if not rule.gamble])
        yield self._everywhere(context, start, [rule for rule in self.rules if not rule.gamble or rule.last])
        yield self._everywhere(context, start, plain)
        yield fixed_point(start, qualname, context.argument_types, plain)
        for rule in self.rules:
            yield self._everywhere(context, start, [rule])

    def _everywhere(self, context: Context, version: Version, rules: Sequence[Rule]) -> Version:
        """The version with rules applied to the target and to the functions that it calls."""
        qualname = context.target.qualname
        helpers = functions_among(version.source, context.helpers, qualname)
        early, late = [[rule for rule in rules if rule.last is last] for last in (False, True)]
        version = fixed_point(version, qualname, context.argument_types, early)
        version = _with_helpers(version, qualname, helpers, early)
        version = fixed_point(version, qualname, context.argument_types, late)
        still = reached(version.source, qualname, helpers) if helpers and late else ()
        return _with_helpers(version, qualname, still, late)

    def _candidate(self, context: Context, version: Version, parent: str | None = None) -> Candidate:
        why = {rule.name: rule.why for rule in self.rules}
        note = " ".join(f"{name}: {why.get(name, '')}" for name in version.applied)
        origin = "rules/" + "+".join(version.applied)
        return Candidate(origin, {str(context.target.path): version.source}, note, parent, version.assumes)

    def _used(self, candidate: Candidate) -> tuple[str, ...]:
        source, _, names = candidate.origin.partition("/")
        return tuple(names.split("+")) if source == "rules" and names else ()


def _with_helpers(version: Version, qualname: str, names: Sequence[str], rules: Sequence[Rule]) -> Version:
    """The version with rules applied to functions that the target calls."""
    found = version

    def improve(source: bytes, helper: str) -> bytes:
        nonlocal found
        found = fixed_point(replace(found, source=source), helper, {}, rules)
        return found.source

    source, public_methods = with_helpers(version.source, qualname, names, improve)
    if source == version.source:
        return version
    assumes = [*found.assumes, "not overridden"] if public_methods else found.assumes
    return replace(found, source=source, assumes=tuple(dict.fromkeys(assumes)))
