from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest

from homeward.errors import InvalidBeliefError, InvalidFileError, InvalidInputError
from homeward.models import Moves
from homeward.paper.formulas import (
    HOME,
    START,
    STAY,
    Formula,
    assignment,
    belief_from,
    parse_dimacs,
    random_formula,
    read_dimacs,
)

if TYPE_CHECKING:
    from pathlib import Path

SMALL = "c a comment\np cnf 4 2\n1 -2 3 0\n-1 4 2 0\n"


def test_a_dimacs_text_gives_its_clauses() -> None:
    assert parse_dimacs(SMALL, "t") == Formula("t", 4, ((1, -2, 3), (-1, 4, 2)))


def test_short_clauses_are_padded_by_repeating_a_literal() -> None:
    assert parse_dimacs("p cnf 2 2\n-2 0\n1 2 0\n", "t").clauses == ((-2, -2, -2), (1, 2, 2))


def test_clauses_may_share_a_line_or_span_several() -> None:
    assert parse_dimacs("p cnf 3 2\n1 2 3 0 -1\n-2\nc between\n-3 0", "t").clauses == (
        (1, 2, 3),
        (-1, -2, -3),
    )


def test_a_satlib_trailer_is_let_pass() -> None:
    assert parse_dimacs(SMALL + "%\n0\n\n", "t") == parse_dimacs(SMALL, "t")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "t:1: no header"),
        ("c only\nc comments\n", "t:1: no header"),
        ("c x\n1 2 3 0\n", "t:2: the header is '1 2 3 0'"),
        ("p cnf 3 1\np cnf 3 1\n1 2 3 0\n", "t:2: 'p' is not a whole number"),
        ("p dnf 3 1\n1 2 3 0\n", "t:1: the header is 'p dnf 3 1'"),
        ("p cnf 3\n1 2 3 0\n", "t:1: the header is 'p cnf 3'"),
        ("p cnf 3 x\n1 2 3 0\n", "t:1: the header is 'p cnf 3 x'"),
        ("p cnf 3 -1\n", "t:1: the header is 'p cnf 3 -1'"),
        ("c\np cnf 3 2\n1 2 3 0\n", "t:2: the header has 2 clauses, the file 1"),
        ("p cnf 3 1\n1 2 3 0\n1 2 -3 0\n", "t:1: the header has 1 clauses, the file 2"),
        ("p cnf 2 1\n1 2 3 0\n", "t:2: literal 3 is out of range"),
        ("p cnf 3 2\n1 2 3 0\n1 -4 0\n", "t:3: literal -4 is out of range"),
        ("p cnf 3 1\n1 2 3\n", "t:2: the clause begun here is not ended with 0"),
        ("p cnf 3 1\n1 2 3\n%\n0\n", "t:2: the clause begun here is not ended with 0"),
        ("p cnf 3 2\n1 2 3\n-1 0\n", "t:3: a clause of 4 literals"),
        ("p cnf 4 1\n1 2 3 4 0\n", "t:2: a clause of 4 literals"),
        ("p cnf 3 1\n1 2.5 3 0\n", "t:2: '2.5' is not a whole number"),
        ("p cnf 3 1\n1 ² 3 0\n", "t:2: '²' is not a whole number"),
        ("p cnf 3 1\n1 1_0 3 0\n", "t:2: '1_0' is not a whole number"),
        ("p cnf 3 1\n0\n", "t:2: a clause of 0 literals"),
        ("p cnf 3 1\n1 2 3 0\n%\n1 2 0\n", "t:3: only a line 0 may follow"),
        ("p cnf 3 1\n1 2 3 0\n% 7\n", "t:3: only a line 0 may follow"),
        ("%\n0\n", "t:1: the header is '%'"),
    ],
)
def test_a_text_that_breaks_the_format_is_refused_by_line(text: str, complaint: str) -> None:
    with pytest.raises(InvalidFileError) as caught:
        parse_dimacs(text, "t")
    assert str(caught.value).startswith(complaint)


def test_a_file_is_read_and_gives_its_name(tmp_path: Path) -> None:
    path = tmp_path / "small.cnf"
    path.write_text(SMALL)
    assert read_dimacs(path) == parse_dimacs(SMALL, str(path))


@pytest.mark.parametrize("what", ["missing", "folder", "binary"])
def test_what_is_not_a_readable_text_file_is_refused_by_name(tmp_path: Path, what: str) -> None:
    path = tmp_path / "thing.cnf"
    if what == "folder":
        path.mkdir()
    elif what == "binary":
        path.write_bytes(b"p cnf \xff\xfe")
    with pytest.raises(InvalidFileError, match=r"thing\.cnf: (can't be read|not a text file)"):
        read_dimacs(path)


def test_what_a_formula_writes_it_can_be_read_from() -> None:
    formula = random_formula(7, 12, np.random.default_rng(3))
    again = parse_dimacs(formula.dimacs(), formula.name)
    assert again == formula


def test_random_clauses_have_three_distinct_variables_of_both_signs() -> None:
    formula = random_formula(5, 200, np.random.default_rng(0))
    assert len(formula.clauses) == 200
    assert all(len({abs(k) for k in clause}) == 3 for clause in formula.clauses)
    assert {k for clause in formula.clauses for k in clause} == {
        *range(1, 6),
        *range(-5, 0),
    }


def test_the_same_seed_draws_the_same_formula() -> None:
    one, two = (random_formula(6, 9, np.random.default_rng(5)) for _ in range(2))
    assert one == two
    assert one != random_formula(6, 9, np.random.default_rng(6))


def test_two_variables_are_too_few_for_a_random_formula() -> None:
    with pytest.raises(InvalidInputError, match="2 variables are too few"):
        random_formula(2, 3, np.random.default_rng(0))


def test_there_is_a_world_per_truth_assignment() -> None:
    belief = belief_from(parse_dimacs(SMALL, "t"))
    assert len(belief.worlds) == 16
    assert belief.worlds[0].states == 2 + 3 * 2
    assert np.unique(belief.weights).tolist() == [1 / 16]


def test_a_world_s_number_spells_its_assignment() -> None:
    formula = parse_dimacs(SMALL, "t")
    assert assignment(formula, 0b0101) == (1, -2, 3, -4)


def test_a_move_out_of_a_literal_works_iff_it_is_true_in_that_world() -> None:
    formula = parse_dimacs(SMALL, "t")
    for number, world in enumerate(belief_from(formula).worlds):
        assert isinstance(world, Moves)
        true = set(assignment(formula, number))
        for (c, clause), i in product(enumerate(formula.clauses), range(3)):
            state = 2 + 3 * c + i
            assert world.success[state, 0] == float(clause[i] in true)


def test_the_roads_lead_from_clause_to_clause_and_d_leads_back_to_s() -> None:
    world = belief_from(parse_dimacs(SMALL, "t")).worlds[0]
    assert isinstance(world, Moves)
    assert world.dest[START, :3].tolist() == [2, 3, 4]
    assert world.dest[2:5, :3].tolist() == [[5, 6, 7]] * 3
    assert world.dest[5:8, 0].tolist() == [HOME] * 3
    assert world.dest[HOME, 0] == START
    assert world.success[[START, HOME], 0].tolist() == [1.0, 1.0]


def test_one_may_stay_anywhere_and_take_no_road_that_is_not_there() -> None:
    world = belief_from(parse_dimacs(SMALL, "t")).worlds[0]
    assert isinstance(world, Moves)
    assert (world.dest[:, STAY] == np.arange(8)).all()
    assert np.isfinite(world.reward[:, STAY]).all()
    roads = np.isfinite(world.reward[:, :STAY]).sum(axis=1)
    assert roads.tolist() == [3, 1, 3, 3, 3, 1, 1, 1]


def test_the_worlds_share_their_roads() -> None:
    first, *others = belief_from(parse_dimacs(SMALL, "t")).worlds
    assert isinstance(first, Moves)
    for world in others:
        assert isinstance(world, Moves)
        assert np.shares_memory(world.dest, first.dest)
        assert np.shares_memory(world.reward, first.reward)


def test_a_formula_of_twelve_variables_is_no_trouble() -> None:
    belief = belief_from(random_formula(12, 51, np.random.default_rng(0)))
    assert len(belief.worlds) == 4096
    assert belief.worlds[-1].states == 155


def test_no_clauses_lead_from_s_straight_to_d() -> None:
    world = belief_from(Formula("nothing", 1, ())).worlds[0]
    assert world.row(START, 0).tolist() == [0.0, 1.0]


def test_too_many_variables_are_refused_by_number() -> None:
    with pytest.raises(InvalidBeliefError, match=r"big: 17 variables make 2\^17 worlds"):
        belief_from(Formula("big", 17, ((1, 2, 17),)))
