from payment_match import match, normalize, numbers, score


def payment(number, amount, payer, purpose=""):
    return {"id": number, "amount": amount, "payer": payer, "purpose": purpose}


def invoice(number, amount, customer):
    return {"number": number, "amount": amount, "customer": customer}


def test_normalize():
    assert normalize("Smith & Sons, Ltd.") == "smith sons"
    assert normalize("ACME  Co GmbH") == "acme"


def test_numbers():
    assert numbers("inv 10023/2024 and no. 77") == ["10023", "2024"]


def test_score():
    assert score(payment(1, 5000, "Acme Inc", "for 10001"), invoice("10001", 5000, "ACME")) == 100
    assert score(payment(1, 4910, "xyz"), invoice("10001", 5000, "ACME")) == 15


def test_match():
    payments = [payment(1, 100, "Acme"), payment(2, 100, "Bolt Ltd", "10001"), payment(3, 9, "zzz")]
    invoices = [invoice("10001", 100, "Acme Inc"), invoice("10002", 100, "Acme Inc")]
    assert match(payments, invoices) == ([(2, "10001"), (1, "10002")], [3])
    assert match([], invoices) == ([], [])


def test_large_bank():
    firms = ["Acme Ltd", "Bolt & Co", "Cyan Inc.", "Delta GmbH"]
    invoices = [invoice(f"{20000 + i}", 1000 + i * 35 % 90, firms[i % 4]) for i in range(14)]
    payments = [
        payment(i, 1000 + i * 35 % 90 + i % 3, firms[(i + i // 3) % 4].upper(), f"nr {20000 + i}" if i % 3 else "")
        for i in range(15)
    ]
    pairs, left = match(payments, invoices)
    assert pairs == [
        (1, "20001"),
        (2, "20002"),
        (13, "20013"),
        (7, "20007"),
        (8, "20008"),
        (11, "20011"),
        (4, "20004"),
        (5, "20005"),
        (10, "20010"),
        (0, "20000"),
        (12, "20012"),
    ]
    assert left == [3, 6, 9, 14]
