import pytest

from plan.merge.forge import Forge


@pytest.fixture
def forge(tmp_path):
    return Forge.at(tmp_path)
