import pytest

from homeward.errors import InvalidInputError
from homeward.runs.references import load


def test_a_reference_is_a_module_and_a_name() -> None:
    assert load("homeward.runs.references:load", "the task") is load


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("json", "the task is 'json', expected module:name"),
        (":loads", "the task is ':loads', expected module:name"),
        ("json:", "the task is 'json:', expected module:name"),
        ("no_such_module:x", "the task 'no_such_module:x': no_such_module can't be imported: Mod"),
        ("json:no_such", "the task 'json:no_such': json has no no_such"),
        ("tests.runs.explosive:x", "can't be imported: ZeroDivisionError: .*by zero"),
    ],
)
def test_what_is_none_is_refused_by_name(reference: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        load(reference, "the task")
