"""Roles that inherit from each other, with grants and denials."""

from typing import Dict, List, Optional


class UnknownRole(KeyError):
    pass


class RoleBook:
    """All roles of an application.

    A role has parents, grants ("invoice:read") and denials. A grant "invoice:*" stands for every action.
    """

    def __init__(self, actions: Optional[List[str]] = None) -> None:
        self.actions = list(actions or ["read", "write", "delete"])
        self.parents: Dict[str, List[str]] = {}
        self.grants: Dict[str, List[str]] = {}
        self.denials: Dict[str, List[str]] = {}

    def add(self, role: str, parents=(), grants=(), denials=()) -> None:
        for parent in parents:
            if parent not in self.parents:
                raise UnknownRole(parent)
        if role in self.parents:
            raise ValueError("role %s is there already" % role)
        self.parents[role] = list(parents)
        self.grants[role] = list(grants)
        self.denials[role] = list(denials)

    def expand(self, permission: str) -> List[str]:
        thing, _, action = permission.partition(":")
        if action == "*":
            return [thing + ":" + each for each in self.actions]
        return [permission]

    def effective(self, role: str) -> List[str]:
        """Return the permissions of a role, sorted.

        A role has what its parents have, less its own denials, plus its own grants: a grant of the role itself wins
        over its denial, and what one parent denies another may give.
        """
        if role not in self.parents:
            raise UnknownRole(role)
        permissions = []
        for parent in self.parents[role]:
            for permission in self.effective(parent):
                if permission not in permissions:
                    permissions.append(permission)
        for denial in self.denials[role]:
            for denied in self.expand(denial):
                if denied in permissions:
                    permissions.remove(denied)
        for grant in self.grants[role]:
            for granted in self.expand(grant):
                if granted not in permissions:
                    permissions.append(granted)
        permissions.sort()
        return permissions

    def allows(self, role: str, permission: str) -> bool:
        return permission in self.effective(role)
