"""The trial balance of a journal."""

from decimal import ROUND_HALF_UP, Decimal


def amount(text: str) -> Decimal:
    """Read an amount as people write it: "1,250.00", "(35.10)" is negative."""
    text = text.strip().replace(",", "")
    if text.startswith("(") and text.endswith(")"):
        return -Decimal(text[1:-1])
    return Decimal(text or "0")


def cents(value: Decimal) -> Decimal:
    """Round to cents."""
    return value.quantize(Decimal("0.01"), rounding=ROUND_HALF_UP)


class Journal:
    """Entries of (date, account, debit, credit), accounts such as 4000:sales:web."""

    def __init__(self, entries: list[tuple[str, str, str, str]]) -> None:
        self.entries = list(entries)

    def accounts(self) -> list[str]:
        """All accounts and the accounts above them, in order."""
        names = []
        for _, account, _, _ in self.entries:
            parts = account.split(":")
            for depth in range(len(parts)):
                name = ":".join(parts[: depth + 1])
                if name not in names:
                    names.append(name)
                    names.sort()
        return names

    def debits(self, account: str, until: str) -> Decimal:
        """The debits of an account and of all below it."""
        total = Decimal("0")
        for date, name, debit, _ in self.entries:
            if (name == account or name.startswith(account + ":")) and date <= until:
                total += amount(debit)
        return cents(total)

    def credits(self, account: str, until: str) -> Decimal:
        """The credits of an account and of all below it."""
        total = Decimal("0")
        for date, name, _, credit in self.entries:
            if (name == account or name.startswith(account + ":")) and date <= until:
                total += amount(credit)
        return cents(total)

    def trial_balance(self, until: str = "9999-12-31") -> list[tuple[str, Decimal, Decimal]]:
        """Return rows of (account, debit balance, credit balance), those of nothing left out."""
        rows = []
        for account in self.accounts():
            if self.debits(account, until) - self.credits(account, until) > 0:
                rows.append((account, self.debits(account, until) - self.credits(account, until), Decimal("0.00")))
            elif self.credits(account, until) - self.debits(account, until) > 0:
                rows.append((account, Decimal("0.00"), self.credits(account, until) - self.debits(account, until)))
        return rows
