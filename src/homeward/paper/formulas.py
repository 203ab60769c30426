"""Formulas as beliefs: the paper's reduction from 3SAT (Theorem 1), and DIMACS files to feed it.

A formula (x₁ ∨ y₁ ∨ z₁) ∧ … ∧ (x_m ∨ y_m ∨ z_m) becomes a belief over move-or-stay worlds, one per
truth assignment, equally likely. The states are S, D and one per literal of each clause, in layers:
S leads to the first clause's literals, each literal to the next clause's three, the last ones to D,
and D back to S. A move out of a literal's state works iff the literal is true in that world; those
out of S and D always work. One may also stay.

From D go to S and wait there. Home is D, so that policy can be made safe at some level above 0 iff
D is reachable from S in some world, that is, iff the formula is satisfiable.

DIMACS is read here and not by PySAT, which accepts wrong counts and whose errors name no line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from homeward.beliefs import FiniteBelief
from homeward.errors import InvalidBeliefError, InvalidFileError, InvalidInputError
from homeward.models import Moves

if TYPE_CHECKING:
    from collections.abc import Iterator

    from homeward.arrays import BoolArray, FloatArray, IntArray

START, HOME = 0, 1
"""The states S and D; the literal i of clause c (both from 0) is state 2 + 3c + i."""

ACTIONS = ("first", "second", "third", "stay")
STAY = 3
MOST_VARIABLES = 16
MOST_MOVES = 100_000_000
WIDTH = 3

Clause = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Formula:
    """A conjunction of clauses of three literals; literal −k is variable k negated."""

    name: str
    variables: int
    clauses: tuple[Clause, ...]

    def __post_init__(self) -> None:
        for c, clause in enumerate(self.clauses):
            if len(clause) != WIDTH or any(not 1 <= abs(k) <= self.variables for k in clause):
                raise InvalidInputError(
                    f"{self.name}: clause {c + 1} is {clause}, expected three literals of "
                    f"variables 1..{self.variables}"
                )

    def dimacs(self) -> str:
        """Write the formula as a DIMACS CNF text."""
        lines = [f"c {self.name}", f"p cnf {self.variables} {len(self.clauses)}"]
        lines += [f"{x} {y} {z} 0" for x, y, z in self.clauses]
        return "\n".join(lines) + "\n"


def assignment(formula: Formula, world: int) -> tuple[int, ...]:
    """Give the truth assignment of a world as literals: variable k is true iff bit k−1 is set."""
    return tuple(k if world >> (k - 1) & 1 else -k for k in range(1, formula.variables + 1))


def random_formula(variables: int, clauses: int, rng: np.random.Generator) -> Formula:
    """Draw clauses of three distinct variables, each negated or not, all equally likely."""
    if variables < WIDTH:
        raise InvalidInputError(f"{variables} variables are too few for clauses of three")
    if clauses < 0:
        raise InvalidInputError(f"a formula can't have {clauses} clauses")
    drawn: list[Clause] = []
    for _ in range(clauses):
        picked = 1 + rng.choice(variables, size=WIDTH, replace=False)
        x, y, z = (int(k) for k in np.where(rng.random(WIDTH) < 0.5, -picked, picked))
        drawn.append((x, y, z))
    return Formula(f"random formula ({variables} variables)", variables, tuple(drawn))


def belief_from(formula: Formula) -> FiniteBelief:
    """Reduce a formula to a belief: 2ⁿ equally likely `Moves` worlds on 2 + 3m states.

    World i makes variable k true iff bit k−1 of i is set.
    """
    if formula.variables > MOST_VARIABLES:
        raise InvalidBeliefError(
            f"{formula.name}: {formula.variables} variables make 2^{formula.variables} worlds; "
            f"at most {MOST_VARIABLES} variables can be enumerated"
        )
    size = 2**formula.variables * (2 + WIDTH * len(formula.clauses)) * len(ACTIONS)
    if size > MOST_MOVES:
        raise InvalidBeliefError(
            f"{formula.name}: its worlds have {size:,} moves in all; at most {MOST_MOVES:,} are "
            "enumerated"
        )
    dest, reward = _roads(len(formula.clauses))
    true = _truths(formula)  # [M, S]
    success = np.where(dest == np.arange(len(dest))[:, None], 1.0, true[:, :, None])  # [M, S, A]
    names = ["S", "D"]
    for c, clause in enumerate(formula.clauses):
        names += [f"{c + 1}{place}:{_spell(k)}" for place, k in zip("xyz", clause, strict=True)]
    success.flags.writeable = False
    first = Moves(dest, success[0], reward, tuple(names), ACTIONS)
    return FiniteBelief([first.with_success(world) for world in success])


def _roads(clauses: int) -> tuple[IntArray, FloatArray]:
    """Give where the moves lead and the rewards, each [S, A]; −inf where there is no such road."""
    states = 2 + WIDTH * clauses
    dest = np.repeat(np.arange(states, dtype=np.int32)[:, None], len(ACTIONS), axis=1)
    reward = np.full(dest.shape, -np.inf)
    reward[:, STAY] = 0.0
    dest[HOME, 0], reward[HOME, 0] = START, 0.0
    layer = [START]
    for c in range(clauses):
        ahead = 2 + WIDTH * c + np.arange(WIDTH)
        dest[layer, :WIDTH], reward[layer, :WIDTH] = ahead, 0.0
        layer = list(ahead)
    dest[layer, 0], reward[layer, 0] = HOME, 0.0
    return dest, reward


def _truths(formula: Formula) -> BoolArray:
    """Tell for each world and state [M, S] whether the moves out of the state work."""
    bits = np.arange(formula.variables)
    value = np.arange(2**formula.variables)[:, None] >> bits & 1 > 0  # [M, n]
    literals = np.array(formula.clauses, np.int64).reshape(-1)  # [3m]
    holds = value[:, np.abs(literals) - 1] == (literals > 0)
    return np.concatenate([np.ones((len(value), 2), dtype=bool), holds], axis=1)


def _spell(literal: int) -> str:
    return f"x{literal}" if literal > 0 else f"¬x{-literal}"


def read_dimacs(path: str | Path) -> Formula:
    """Read a DIMACS CNF file; the errors name the file and the line."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as cause:
        raise InvalidFileError(f"{path}: can't be read: {cause.strerror}") from cause
    except UnicodeDecodeError as cause:
        raise InvalidFileError(f"{path}: not a text file (byte {cause.start})") from cause
    return parse_dimacs(text, str(path))


def parse_dimacs(text: str, name: str) -> Formula:
    """Read DIMACS CNF text, strictly.

    ``c`` starts a comment line, ``p cnf VARIABLES CLAUSES`` is the header, and every clause of one
    to three literals ends with 0, over as many lines as it likes. Shorter clauses are padded by
    repeating their last literal. A SATLIB trailer (``%``, then 0) is let pass. Declaring more
    variables than are used is allowed, as the format allows it.
    """
    header: tuple[int, int] | None = None
    clauses: list[Clause] = []
    clause: list[int] = []
    begun = 0
    ended = False
    for number, words in _lines(text):
        here = f"{name}:{number}"
        if ended:
            if words != ["0"]:
                raise InvalidFileError(f"{here}: {words[0]!r} after the end mark %")
        elif words[0] == "%":
            if len(words) > 1:
                raise InvalidFileError(f"{here}: {words[1]!r} after the end mark %")
            ended = True
        elif words[0] == "p":
            if header is not None:
                raise InvalidFileError(f"{here}: a second header")
            header = _header(words, here)
        elif header is None:
            raise InvalidFileError(f"{here}: {words[0]!r} comes before the header 'p cnf ...'")
        else:
            for word in words:
                literal = _whole(word, here)
                begun = number if not clause else begun
                if abs(literal) > header[0]:
                    raise InvalidFileError(
                        f"{here}: literal {literal} is out of range, "
                        f"the header promises {header[0]} variables"
                    )
                if literal == 0:
                    clauses.append(_padded(clause, here))
                    clause = []
                elif len(clause) == WIDTH:
                    raise InvalidFileError(
                        f"{here}: the clause begun in line {begun} has more than {WIDTH} literals, "
                        "or its 0 is missing"
                    )
                else:
                    clause.append(literal)
    if header is None:
        raise InvalidFileError(f"{name}:1: no header 'p cnf ...': the file is empty")
    if clause:
        raise InvalidFileError(f"{name}:{begun}: the clause begun here is not ended with 0")
    if len(clauses) != header[1]:
        line = next(i for i, words in _lines(text) if words[0] == "p")
        raise InvalidFileError(
            f"{name}:{line}: the header promises {header[1]} clauses, the file has {len(clauses)}"
        )
    return Formula(name, header[0], tuple(clauses))


def _lines(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number, words) of the lines that are neither blank nor comments."""
    for number, line in enumerate(text.split("\n"), start=1):
        words = line.split()
        if words and not words[0].startswith("c"):
            yield number, words


def _header(words: list[str], here: str) -> tuple[int, int]:
    """Read ``p cnf VARIABLES CLAUSES``."""
    if len(words) != 4 or words[1] != "cnf":
        raise InvalidFileError(f"{here}: the header is {' '.join(words)!r}, expected 'p cnf n m'")
    variables, clauses = _whole(words[2], here), _whole(words[3], here)
    if variables < 0 or clauses < 0:
        raise InvalidFileError(f"{here}: the header promises a negative number")
    return variables, clauses


def _whole(word: str, here: str) -> int:
    if not re.fullmatch(r"-?[0-9]{1,18}", word):
        raise InvalidFileError(f"{here}: {word!r} is not a whole number")
    return int(word)


def _padded(clause: list[int], here: str) -> Clause:
    """Make a clause of one to three literals three long by repeating its last one."""
    if not clause:
        raise InvalidFileError(f"{here}: an empty clause, which nothing satisfies")
    x, y, z = (clause + clause[-1:] * (WIDTH - 1))[:WIDTH]
    return x, y, z
