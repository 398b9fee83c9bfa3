import pytest
from motif_finder import clean, frequent_motifs, gc_content, reverse_complement


def test_strands():
    assert reverse_complement("AACG") == "CGTT"
    assert gc_content("") == 0.0
    assert gc_content("GATC") == 0.5
    assert clean(" ac g\nt") == "ACGT"


def test_overlapping_occurrences():
    assert frequent_motifs("AAAA", 2) == [("AA", 3)]


def test_both_strands_are_one_motif():
    assert frequent_motifs("AACTT", 2, at_least=1) == [("AA", 2), ("AC", 1), ("AG", 1)]


def test_unknown_bases_do_not_count():
    assert frequent_motifs("AANAA", 2, at_least=1) == [("AA", 2)]


def test_mismatches():
    assert frequent_motifs("AAACAAAG", 4, at_least=2, mismatches=1) == [("AAAC", 2), ("AAAG", 2)]


def test_short_strand_and_bad_input():
    assert frequent_motifs("AC", 3) == []
    with pytest.raises(ValueError, match="'X' at 1"):
        frequent_motifs("AXC", 1)
    with pytest.raises(ValueError, match="at least one base"):
        frequent_motifs("ACG", 0)


def test_large_strand():
    strand = "".join("ACGT"[(i * i + i // 7) % 4] for i in range(90)) + "NN" + "GATTACA" * 6
    found = frequent_motifs(strand, 6, at_least=3)
    assert found[:4] == [("ACACAC", 7), ("ATTACA", 6), ("CACACA", 6), ("GATTAC", 6)]
    assert (len(found), sum(count for _, count in found)) == (33, 122)
    near = frequent_motifs(strand[60:], 5, at_least=9, mismatches=1)
    assert near == [("TATAA", 11), ("TCACA", 10), ("ACACA", 9), ("ATAAC", 9), ("ATCAC", 9), ("TAACA", 9), ("TGTAA", 9)]
