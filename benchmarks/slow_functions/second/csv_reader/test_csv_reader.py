import pytest
from csv_reader import CsvError, CsvReader


def test_rows():
    assert list(CsvReader("a,b\r\n\n,\nc").rows()) == [["a", "b"], ["", ""], ["c"]]


def test_quotes():
    assert CsvReader('"x ""y"", z\n2"q,3').read_row() == ['x "y", z\n2q', "3"]
    assert CsvReader("'a;b';c", ";", "'").read_row() == ["a;b", "c"]


def test_records():
    assert CsvReader("id,name\n1,Ann\n2,Bob\n").records() == [{"id": "1", "name": "Ann"}, {"id": "2", "name": "Bob"}]
    assert CsvReader("").records() == []


def test_errors():
    with pytest.raises(CsvError, match="line 3: 1 fields"):
        CsvReader("a,b\n1,2\n3\n").records()
    with pytest.raises(CsvError, match="line 2: open quote"):
        CsvReader('a\n"b').records()


def test_large_file():
    lines = ["number,name,note,amount"]
    for i in range(400):
        note = f'"said ""{i}"", then\nleft"' if i % 5 == 0 else f"note {i * 7 % 50}"
        lines.append(f"{i},name{i % 13},{note},{i * 37 % 1000}.50")
    records = CsvReader("\r\n".join(lines)).records()
    assert len(records) == 400
    assert records[5] == {"number": "5", "name": "name5", "note": 'said "5", then\nleft', "amount": "185.50"}
    assert records[-1] == {"number": "399", "name": "name9", "note": "note 43", "amount": "763.50"}
    assert sum(float(record["amount"]) for record in records) == 201800.0
