"""Studies of many tasks on many processes, which can be resumed at any moment.

A `Study` is a list of cells and a list of seeds; one function computes each pair, a task.
`StudyFile` is the file of a study, `conduct` runs the unfinished tasks, and `table_of` returns all
rows:

    study = define("levels", "my_module:task", combine({"delta": [0.9, 0.99]}), range(100))
    with StudyFile.open("levels.sqlite", study) as study_file:
        for outcome in conduct(study_file):
            ...
        write_table(table_of(study_file), "levels.csv")
"""

from homeward.studies.conduct import conduct
from homeward.studies.crews import CrewError
from homeward.studies.study import Study, combine, define, read_study
from homeward.studies.study_file import StudyFile
from homeward.studies.table import Table, check_table, table_of, write_table
from homeward.studies.work import TaskOutcome

__all__ = [
    "CrewError",
    "Study",
    "StudyFile",
    "Table",
    "TaskOutcome",
    "check_table",
    "combine",
    "conduct",
    "define",
    "read_study",
    "table_of",
    "write_table",
]
