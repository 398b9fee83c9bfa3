"""A reader for files of comma-separated values, as spreadsheets write them."""

from typing import Dict, Iterator, List, Optional


class CsvError(ValueError):
    """The text is not what it should be."""


class CsvReader:
    """Reads a text, one character after another."""

    def __init__(self, text: str, separator: str = ",", quote: str = '"') -> None:
        self.text = text
        self.separator = separator
        self.quote = quote
        self.position = 0
        self.line = 1

    def peek(self) -> Optional[str]:
        """Return the character at the position, or None at the end."""
        return self.text[self.position] if self.position < len(self.text) else None

    def advance(self) -> Optional[str]:
        """Return the character at the position and go on."""
        character = self.peek()
        if character is not None:
            self.position += 1
            if character == "\n":
                self.line += 1
        return character

    def read_field(self) -> str:
        """Read one field up to what ends it."""
        field = ""
        if self.peek() == self.quote:
            self.advance()
            while True:
                character = self.advance()
                if character is None:
                    raise CsvError("line " + str(self.line) + ": open quote")
                if character == self.quote:
                    if self.peek() != self.quote:
                        break
                    self.advance()
                field = field + character
        while self.peek() not in (None, self.separator, "\r", "\n"):
            field = field + str(self.advance())
        return field

    def read_row(self) -> List[str]:
        """Read one row with the end of its line."""
        row = [self.read_field()]
        while self.peek() == self.separator:
            self.advance()
            row.append(self.read_field())
        for end in "\r\n":
            if self.peek() == end:
                self.advance()
        return row

    def rows(self) -> Iterator[List[str]]:
        """Return all rows that are not blank."""
        while self.peek() is not None:
            row = self.read_row()
            if row != [""]:
                yield row

    def records(self) -> List[Dict[str, str]]:
        """Return all rows but the first as dictionaries with its names."""
        header: List[str] = []
        records: List[Dict[str, str]] = []
        for row in self.rows():
            if not header:
                header = row
            elif len(row) != len(header):
                raise CsvError("line " + str(self.line - 1) + ": " + str(len(row)) + " fields")
            else:
                records.append(dict(zip(header, row)))
        return records
