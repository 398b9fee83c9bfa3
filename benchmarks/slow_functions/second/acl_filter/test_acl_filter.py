import pytest
from acl_filter import Acl, parse_rule

GROUPS = {"sales": ["ann", "@interns"], "interns": ["tim", "@sales"], "all": ["@sales", "bob"]}


@pytest.fixture
def acl():
    rules = [
        "allow group:all read /public/*",
        "allow group:sales read,write /deals/*",
        "deny group:interns write,read /deals/secret/*",
        "allow user:bob read *.pdf",
        "deny user:* write *.lock",
    ]
    return Acl(rules, GROUPS)


def test_parse_rule():
    assert parse_rule("deny user:* read,write /a/[0-9]*") == {
        "effect": "deny",
        "kind": "user",
        "name": "*",
        "actions": ["read", "write"],
        "pattern": "/a/[0-9]*",
    }


def test_members(acl):
    assert acl.members("all") == ["ann", "tim", "bob"]
    assert acl.members("none") == []


def test_allowed(acl):
    assert acl.allowed("tim", "write", "/deals/x")
    assert not acl.allowed("tim", "read", "/deals/secret/x")
    assert not acl.allowed("ann", "read", "/deals/secret/x")
    assert not acl.allowed("ann", "write", "/deals/x.lock")


def test_visible(acl):
    paths = ["/deals/b", "/public/a", "/deals/a.pdf", "/public/a"]
    assert acl.visible("bob", paths) == ["/deals/a.pdf", "/public/a"]
    assert acl.visible("eve", paths) == []


def test_large_archive(acl):
    for number in range(9):
        members = ["@interns", f"user{number}", "@all"] if number % 2 else [f"user{number}", "ann"]
        acl.groups = {**acl.groups, f"team{number}": members}
        acl.rules.append(f"{'deny' if number % 4 == 3 else 'allow'} group:team{number} read /team/*{number}/*")
    paths = [f"/{('team', 'deals', 'public')[i % 3]}/t{i * 7 % 19}/{i * 5 % 37}.pdf" for i in range(110)]
    visible = acl.visible("tim", paths)
    assert len(visible) == 81
    assert visible[0] == "/deals/t0/10.pdf"
    assert visible[-2:] == ["/team/t5/21.pdf", "/team/t5/32.pdf"]
    assert len(acl.visible("user2", paths)) == 4
