import pytest
from role_permissions import RoleBook, UnknownRole


def test_own_grants_are_expanded_and_sorted():
    book = RoleBook()
    book.add("clerk", grants=["invoice:*", "customer:read"])
    assert book.effective("clerk") == ["customer:read", "invoice:delete", "invoice:read", "invoice:write"]


def test_inheritance_and_denial():
    book = RoleBook()
    book.add("clerk", grants=["invoice:*"])
    book.add("trainee", ["clerk"], denials=["invoice:delete", "order:*"])
    assert book.effective("trainee") == ["invoice:read", "invoice:write"]
    assert not book.allows("trainee", "invoice:delete")
    assert book.allows("clerk", "invoice:delete")


def test_own_grant_wins_over_own_denial():
    book = RoleBook()
    book.add("base", grants=["a:*"])
    book.add("odd", ["base"], grants=["a:read"], denials=["a:*"])
    assert book.effective("odd") == ["a:read"]


def test_another_parent_may_give_what_one_denies():
    book = RoleBook(["read"])
    book.add("base", grants=["a:*"])
    book.add("left", ["base"], denials=["a:read"])
    book.add("both", ["left", "base"])
    assert book.effective("left") == []
    assert book.effective("both") == ["a:read"]


def test_result_is_the_callers_own_list():
    book = RoleBook()
    book.add("base", grants=["a:read"])
    book.effective("base").append("b:read")
    assert book.effective("base") == ["a:read"]


def test_later_roles_are_seen():
    book = RoleBook()
    book.add("base")
    assert book.effective("base") == []
    book.grants["base"].append("a:read")
    assert book.effective("base") == ["a:read"]


def test_unknown_and_repeated_roles():
    book = RoleBook()
    with pytest.raises(UnknownRole):
        book.effective("nobody")
    with pytest.raises(UnknownRole):
        book.add("x", ["nobody"])
    book.add("x")
    with pytest.raises(ValueError, match="already"):
        book.add("x")


def test_large_hierarchy():
    book = RoleBook()
    book.add("r0", grants=["t0:*", "t1:read"])
    book.add("r1", ["r0"], grants=["t2:*", "t3:*"])
    for i in range(2, 14):
        book.add(
            f"r{i}",
            [f"r{i - 1}", f"r{i - 2}"],
            grants=[f"t{i * 3 + j}:*" for j in range(3)],
            denials=[f"t{i}:write", f"t{i // 2}:delete"],
        )
    permissions = book.effective("r13")
    assert len(permissions) == 114
    assert permissions[:3] == ["t0:delete", "t0:read", "t0:write"]
    assert "t39:write" in permissions
