"""Studies of many tasks on many processes, resumable at any moment.

A `Study` is a list of cells and a list of seeds; each pair is a task for one function. `Ledger` is
its file, `conduct` does what is left, and `table_of` lays it out:

    study = define("levels", "my_module:task", combine({"delta": [0.9, 0.99]}), range(100))
    with Ledger.open("levels.sqlite", study) as ledger:
        for outcome in conduct(ledger):
            ...
        write_table(table_of(ledger), "levels.csv")
"""

from homeward.studies.conduct import conduct
from homeward.studies.crews import CrewError
from homeward.studies.ledger import Ledger
from homeward.studies.study import Study, combine, define, read_study
from homeward.studies.table import Table, check_table, table_of, write_table
from homeward.studies.work import Outcome

__all__ = [
    "CrewError",
    "Ledger",
    "Outcome",
    "Study",
    "Table",
    "check_table",
    "combine",
    "conduct",
    "define",
    "read_study",
    "table_of",
    "write_table",
]
