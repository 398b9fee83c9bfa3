"""Matching payments of a bank with open invoices."""

import re
from difflib import SequenceMatcher


def normalize(name: str) -> str:
    """Return a name without legal forms, signs and doubled blanks."""
    name = name.lower()
    name = re.sub(r"\b(ltd|limited|inc|gmbh|llc|co)\b\.?", "", name)
    name = re.sub(r"[^a-z0-9 ]", " ", name)
    return " ".join(name.split())


def numbers(text: str) -> list[str]:
    """Return the numbers of invoices in the purpose of a payment."""
    return re.findall(r"\d{4,}", text)


def similarity(a: str, b: str) -> float:
    """Return how alike two names are, from 0 to 1."""
    return SequenceMatcher(None, normalize(a), normalize(b)).ratio()


def score(payment: dict, invoice: dict) -> int:
    """Return how well a payment goes with an invoice, from 0 to 100."""
    points = 0
    if invoice["number"] in numbers(payment["purpose"]):
        points += 50
    if payment["amount"] == invoice["amount"]:
        points += 30
    elif abs(payment["amount"] - invoice["amount"]) <= invoice["amount"] // 50:
        points += 15
    points += int(20 * similarity(payment["payer"], invoice["customer"]))
    return points


def match(payments: list[dict], invoices: list[dict], least: int = 45) -> tuple[list[tuple[int, str]], list[int]]:
    """Return (pairs of payment id and invoice number, ids of payments that go with nothing).

    The best pairs are made first. Of pairs that are equally good, the one with the smaller payment id is made first,
    then the one with the smaller number of the invoice.
    """
    open_payments = list(payments)
    open_invoices = list(invoices)
    pairs = []
    while open_payments and open_invoices:
        options = []
        for payment in open_payments:
            for invoice in open_invoices:
                options.append((-score(payment, invoice), payment["id"], invoice["number"]))
        options.sort()
        points, payment_id, number = options[0]
        if -points < least:
            break
        pairs.append((payment_id, number))
        open_payments = [payment for payment in open_payments if payment["id"] != payment_id]
        open_invoices = [invoice for invoice in open_invoices if invoice["number"] != number]
    return pairs, [payment["id"] for payment in open_payments]
