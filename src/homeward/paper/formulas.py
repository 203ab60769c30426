"""The paper's reduction from 3SAT to beliefs (Theorem 1), and a reader of DIMACS files.

A formula (x₁ ∨ y₁ ∨ z₁) ∧ … ∧ (x_m ∨ y_m ∨ z_m) becomes a belief over equally likely move-or-stay
worlds, one per truth assignment. The states are S, D and one state per literal of each clause. S
leads to the literals of the first clause, each literal leads to the three literals of the next
clause, the last literals lead to D, and D leads to S. A move out of a literal's state works iff the
literal is true in the world; moves out of S and D always work. Staying is always possible.

The policy in question goes from D to S and waits there; home is D. It is safe at a level above 0
iff D is reachable from S in at least one world, that is, iff the formula is satisfiable.

PySAT's DIMACS reader is not used: it refuses clauses on several lines, and its errors have no line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from homeward.arrays import BoolArray, FloatArray, IntArray
from homeward.beliefs import FiniteBelief
from homeward.errors import InvalidBeliefError, InvalidFileError, InvalidInputError
from homeward.files import refusing
from homeward.models import Moves

START, HOME = 0, 1  # states S and D; literal i of clause c (both from 0) is state 2 + 3c + i
ACTIONS = ("first", "second", "third", "stay")
STAY = 3
MAX_VARIABLES = 16
MAX_MOVES = 100_000_000  # largest number of moves of all worlds together
WIDTH = 3  # number of literals of a clause

Clause = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Formula:
    """A conjunction of clauses of three literals; literal −k is variable k negated."""

    name: str
    variables: int
    clauses: tuple[Clause, ...]

    def dimacs(self) -> str:
        """Return the formula as a DIMACS CNF text."""
        lines = [f"c {self.name}", f"p cnf {self.variables} {len(self.clauses)}"]
        lines += [f"{x} {y} {z} 0" for x, y, z in self.clauses]
        return "\n".join(lines) + "\n"


def assignment(formula: Formula, world: int) -> tuple[int, ...]:
    """Return a world's truth assignment as literals: variable k is true iff its bit k−1 is set."""
    return tuple(k if world >> (k - 1) & 1 else -k for k in range(1, formula.variables + 1))


def random_formula(variables: int, clauses: int, rng: np.random.Generator) -> Formula:
    """Return a random formula: clauses of three distinct variables, negated with probability ½."""
    if variables < WIDTH:
        raise InvalidInputError(f"{variables} variables are too few for clauses of three")
    drawn: list[Clause] = []
    for _ in range(clauses):
        picked = 1 + rng.choice(variables, size=WIDTH, replace=False)
        x, y, z = (int(k) for k in np.where(rng.random(WIDTH) < 0.5, -picked, picked))
        drawn.append((x, y, z))
    return Formula(f"random formula ({variables} variables)", variables, tuple(drawn))


def belief_from(formula: Formula) -> FiniteBelief:
    """Return the belief of a formula with n variables and m clauses.

    It has 2ⁿ equally likely worlds with 2 + 3m states. In world i, variable k is bit k − 1 of i.
    """
    if formula.variables > MAX_VARIABLES:
        raise InvalidBeliefError(
            f"{formula.name}: {formula.variables} variables make 2^{formula.variables} worlds; "
            f"at most {MAX_VARIABLES} variables can be enumerated"
        )
    size = 2**formula.variables * (2 + WIDTH * len(formula.clauses)) * len(ACTIONS)
    if size > MAX_MOVES:
        raise InvalidBeliefError(
            f"{formula.name}: its worlds have {size:,} moves; at most {MAX_MOVES:,} are enumerated"
        )
    dest, reward = _roads(len(formula.clauses))
    true = _truths(formula)  # [M, S]
    success = np.where(dest == np.arange(len(dest))[:, None], 1.0, true[:, :, None])  # [M, S, A]
    names = ["S", "D"]
    for c, clause in enumerate(formula.clauses, start=1):
        literals = [f"x{k}" if k > 0 else f"¬x{-k}" for k in clause]
        names += [f"{c}{place}:{literal}" for place, literal in zip("xyz", literals, strict=True)]
    success.flags.writeable = False
    first = Moves(dest, success[0], reward, tuple(names), ACTIONS)
    return FiniteBelief([first.with_success(world) for world in success])


def _roads(clauses: int) -> tuple[IntArray, FloatArray]:
    """Return the destinations and rewards [S, A] of moves; −inf marks actions without a move."""
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
    """Return the mask [M, S] of states whose moves work in each of the M worlds."""
    bits = np.arange(formula.variables)
    value = np.arange(2**formula.variables)[:, None] >> bits & 1 > 0  # [M, n]
    literals = np.array(formula.clauses, np.int64).reshape(-1)  # [3m]
    holds = value[:, np.abs(literals) - 1] == (literals > 0)
    return np.concatenate([np.ones((len(value), 2), dtype=bool), holds], axis=1)


def read_dimacs(path: str | Path) -> Formula:
    """Return the formula of a DIMACS CNF file; error messages name the file and the line."""
    path = Path(path)
    try:
        with refusing(path, "can't be read"):
            return parse_dimacs(path.read_text(encoding="utf-8"), str(path))
    except UnicodeDecodeError as cause:
        raise InvalidFileError(f"{path}: not a text file (byte {cause.start})") from cause


def parse_dimacs(text: str, name: str) -> Formula:
    """Return the formula of a DIMACS CNF text.

    ``c`` starts a comment line, and ``p cnf VARIABLES CLAUSES`` is the header. Every clause has one
    to three literals and ends with 0; it may extend over several lines. Shorter clauses are padded
    by repeating their last literal. SATLIB's trailer (``%``, then 0) is skipped. The header may
    declare more variables than are used.
    """
    lines = [
        (f"{name}:{number}", line.split())
        for number, line in enumerate(text.split("\n"), start=1)
        if line.strip() and not line.lstrip().startswith("c")
    ]
    trailer = next((i for i, (_, words) in enumerate(lines) if words[0] == "%"), len(lines))
    if [words for _, words in lines[trailer:]] not in ([], [["%"]], [["%"], ["0"]]):
        at = lines[trailer][0]
        raise InvalidFileError(f"{at}: only a line 0 may follow the end mark %")
    if not lines:
        raise InvalidFileError(f"{name}:1: no header 'p cnf ...': the file is empty")
    (top, head), *rest = lines[:trailer] or lines[:1]
    if not re.fullmatch(r"p cnf [0-9]{1,18} [0-9]{1,18}", " ".join(head)):
        raise InvalidFileError(f"{top}: the header is {' '.join(head)!r}, expected 'p cnf n m'")
    variables, count = int(head[2]), int(head[3])
    clauses: list[Clause] = []
    clause: list[int] = []
    begun = top
    for here, word in ((here, word) for here, words in rest for word in words):
        if not re.fullmatch(r"-?[0-9]{1,18}", word):
            raise InvalidFileError(f"{here}: {word!r} is not a whole number")
        literal = int(word)
        if abs(literal) > variables:
            raise InvalidFileError(
                f"{here}: literal {literal} is out of range, the header has {variables} variables"
            )
        if literal:
            begun = begun if clause else here
            clause.append(literal)
        elif not 1 <= len(clause) <= WIDTH:
            raise InvalidFileError(f"{here}: a clause of {len(clause)} literals, expected 1 to 3")
        else:
            x, y, z = (clause + clause[-1:] * (WIDTH - 1))[:WIDTH]
            clauses.append((x, y, z))
            clause = []
    if clause:
        raise InvalidFileError(f"{begun}: the clause begun here is not ended with 0")
    if len(clauses) != count:
        raise InvalidFileError(f"{top}: the header has {count} clauses, the file {len(clauses)}")
    return Formula(name, variables, tuple(clauses))
