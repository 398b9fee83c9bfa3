"""Repeated motifs of DNA strands."""

COMPLEMENT = {"A": "T", "T": "A", "C": "G", "G": "C"}


def reverse_complement(strand: str) -> str:
    return "".join(COMPLEMENT[base] for base in reversed(strand))


def gc_content(strand: str) -> float:
    if not strand:
        return 0.0
    return sum(base in "GC" for base in strand) / len(strand)


def clean(strand: str) -> str:
    """Return the strand in capitals without white space; raises ValueError for what is no base."""
    strand = "".join(strand.upper().split())
    for position, base in enumerate(strand):
        if base not in "ACGTN":
            raise ValueError(f"{base!r} at {position} is no base")
    return strand


def frequent_motifs(strand: str, length: int, at_least: int = 2, mismatches: int = 0) -> list[tuple[str, int]]:
    """Return the motifs of a length with how often each occurs, most frequent first, then by alphabet.

    Occurrences may overlap, on either strand (a motif and its reverse complement are one motif, reported as the one
    that comes first in the alphabet). Windows with an N do not count. With `mismatches`, a window counts for every
    motif of the strand that differs from it in at most so many places.
    """
    strand = clean(strand)
    if length < 1:
        raise ValueError("a motif has at least one base")
    motifs: list[str] = []
    for start in range(len(strand) - length + 1):
        window = strand[start : start + length]
        if "N" in window:
            continue
        motif = min(window, reverse_complement(window))
        if motif not in motifs:
            motifs.append(motif)

    found = []
    for motif in motifs:
        count = 0
        for start in range(len(strand) - length + 1):
            window = strand[start : start + length]
            if "N" in window:
                continue
            for candidate in (window, reverse_complement(window)):
                different = 0
                for a, b in zip(candidate, motif):
                    if a != b:
                        different += 1
                if different <= mismatches:
                    count += 1
                    break
        if count >= at_least:
            found.append((motif, count))
    return sorted(found, key=lambda pair: (-pair[1], pair[0]))
