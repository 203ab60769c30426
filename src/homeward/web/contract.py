"""Models of the interface under ``/api/v1``: the bodies of requests and of responses.

They define the OpenAPI document (`openapi`), from which the page's types are generated. Tests check
real responses against them. Values are codes and numbers; the client makes the sentences.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from homeward.planning.ends import End
from homeward.planning.plan import Evaluator, Verdict
from homeward.web.refusals import Refusal

Shape = Annotated[tuple[int, int], Field(description="Rows and columns.")]
MAX_STEPS = 10_000_000  # largest number of steps that a run can be resumed to
Size = Annotated[tuple[float, float], Field(description="Height and width in m.")]


class Status(StrEnum):
    """Status of a run."""

    RUNNING = "running"
    QUEUED = "queued"
    PAUSED = "paused"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"
    FAILED = "failed"
    FINISHED = "finished"
    DAMAGED = "damaged"
    NEWER = "newer"  # a newer version wrote it
    WAITING = "waiting"  # a mission, which waits for the next report


class Sort(StrEnum):
    """Key by which the list of runs is sorted."""

    CREATED = "created"
    UPDATED = "updated"
    NAME = "name"
    KIND = "kind"
    OUTCOME = "outcome"
    STEPS = "steps"


class Outcome(StrEnum):
    """Whether a way home exists in the true world at the end of a run."""

    TRAPPED = "trapped"  # no way home exists
    ABLE = "able_to_return"


class Answer(BaseModel):
    """Base of all models: every key is declared, and a response has all keys."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)


class Refused(Answer):
    """The response to a refused request. `error` is a sentence; programs compare `code`."""

    code: Refusal
    error: str


class ServerLimits(Answer):
    """Limits of the server."""

    uploads: Annotated[int, Field(description="Bytes of one upload.")]
    stored: Annotated[int, Field(description="Bytes of all uploads together.")]
    runs: Annotated[int, Field(description="Runs that execute at the same time.")]
    queued: Annotated[int, Field(description="Runs that may wait in the queue.")]
    streams: int
    cells: int


class About(Answer):
    """Version, folder and limits of the server."""

    version: str
    runs: Annotated[str, Field(description="Name of the folder.")]
    limits: ServerLimits


class Summary(Answer):
    """One run in the list. If it can't be opened, `kind` is null."""

    id: str
    kind: str | None
    title: str
    explorer: str | None
    delta: float | None
    seed: int | None
    status: Status
    place: Annotated[int | None, Field(description="Position in the queue, from 1.")]
    steps: int
    limit: int | None
    end: Annotated[End | None, Field(description="Why the run ended.")]
    outcome: Annotated[Outcome | None, Field(description="Null while it is not known.")]
    trapped: Annotated[int | None, Field(description="Step after which no way home existed.")]
    seen: Annotated[float | None, Field(description="Share of the map that was seen at the end.")]
    why: Annotated[str | None, Field(description="`end` in English.")]
    error: str | None
    created: str | None
    updated: str | None
    shape: Shape | None
    live: bool
    pair: Annotated[str | None, Field(description="The other run of a pair.")]


class RunList(Answer):
    """One page of the list of runs; the two runs of a pair count as one row."""

    runs: list[Summary]
    total: Annotated[int, Field(description="Number of rows of the whole selection.")]
    offset: int
    limit: int


class Pair(Answer):
    """A safe and an unsafe run in the same world."""

    safe: Summary
    unsafe: Summary


class Category(Answer):
    """One value of a categorical layer."""

    value: float
    title: str


class Layer(Answer):
    """One map layer."""

    name: str
    title: str
    unit: str | None
    scale: Literal["sequential", "categorical", "probability"]
    costs: Annotated[
        Literal["belief", "plan"],
        Field(description="Computing the layer takes about as long as computing this."),
    ]
    categories: list[Category] | None = None
    deviation: Annotated[
        float | None, Field(description="Standard deviation of the values' errors, in `unit`.")
    ] = None


class Criterion(Answer):
    """One safety criterion of a run."""

    kind: Literal["return", "stay", "earn"]
    level: float
    home: Literal["current", "start", "bases"] | None
    within: Annotated[int | None, Field(description="Steps that the return may take.")]


class Action(Answer):
    """One action; on a map, it moves `dr` rows down and `dc` columns to the right."""

    name: str
    dr: int | None
    dc: int | None


class SourceFile(Answer):
    """A file that a run was made from."""

    name: str
    sha256: Annotated[
        str | None, Field(description="Digest of the file as it was sent; null if not recorded.")
    ]


class Details(Summary):
    """One run with its configuration and its map."""

    config: dict[str, Any]
    files: Annotated[dict[str, SourceFile], Field(description="Uploaded files, by setting.")]
    plan_ms: float | None
    home: list[int] | Literal["current", "start"] | None
    start: int | None
    targets: Annotated[list[int], Field(description="Cells to visit.")]
    cell: Size | None
    transform: Annotated[
        tuple[float, float, float, float, float, float] | None,
        Field(description="From column and row to map coordinates: x = a·c + b·r + c₀, …"),
    ]
    crs: Annotated[str | None, Field(description="Name of the coordinate reference system.")]
    way_files: Annotated[
        list[str], Field(description="Suffixes of files that a way home can be downloaded as.")
    ]
    layers: list[Layer]
    criteria: list[Criterion]
    actions: list[Action]


class TimelineEvent(Answer):
    """Something that happened after a step."""

    step: int
    code: Literal["reached", "news", "spent", "refused", "trapped", "ended"]
    cell: int | None
    amount: Annotated[
        float | None, Field(description="Risk that was spent, or bonus of the refused look.")
    ]


class Timeline(Answer):
    """The events of a run, in order of steps."""

    events: list[TimelineEvent]
    trapped: int | None
    complete: Annotated[
        bool, Field(description="False if refusals may be missing: the run goes on, or ask again.")
    ]


class Glance(Answer):
    """A thumbnail of the last step; arrays are base64 texts of little-endian numbers."""

    shape: Shape
    share: Annotated[float, Field(description="Share of the cells that were seen.")]
    trapped: int | None
    grid: bool
    height: str
    seen: str
    path: str


class WhyCriterion(Answer):
    """One criterion of a plan, with its bounds."""

    name: str
    kind: str
    level: float
    bound: float
    kept_bound: float
    evaluator: Evaluator | None = None
    multiplier: float | None


class WhyAction(Action):
    """One action of a plan, and why it was taken or not."""

    action: int
    leaves: float
    look: Annotated[float | None, Field(description="Bonus of the cell that it leads to.")]
    exploration: float | None
    safety: list[float]
    share: Annotated[
        float | None,
        Field(description="Share of the remaining risk that a way home after it would spend."),
    ]
    way_home: Annotated[
        float | None,
        Field(description="Bound on the way home after it, if no criterion of the run has a home."),
    ]
    weight: float
    verdict: Verdict
    words: Annotated[str, Field(description="`verdict` in English.")]


class Proposal(Answer):
    """The path that is pursued until something new is learned."""

    path: list[int]
    gain: float
    steps: float
    rate: float
    share: float | None
    unit: str | None
    rule: Annotated[
        Literal["near", "path", "place", "home"] | None,
        Field(description="Why it may be preferred to a move with a higher rate."),
    ]


class Recorded(Answer):
    """The recorded action and bounds of a decision."""

    action: int
    bounds: list[float]


class Why(Answer):
    """The plan after a step and its evidence, or why the run ends there."""

    step: int
    state: int
    action: int | None
    end: End | None
    trapped: Annotated[bool, Field(description="No move works, and no action stays.")]
    status: str
    sentence: str
    reasons: str
    explanation: str
    criteria: list[WhyCriterion]
    actions: list[WhyAction]
    value: float | None
    upper: float | None
    gap: float | None
    way_home: float
    proposal: Proposal | None
    recorded: Recorded | None
    agrees: bool


class Edge(Answer):
    """One move of a return path."""

    from_: Annotated[int, Field(alias="from")]
    to: int
    action: int
    success: float
    risk: float
    left: float


class Slopes(Answer):
    """Steepest slopes of a move in degrees; `side` is null if side slopes are not limited."""

    up: float
    down: float
    side: float | None


class Profile(Answer):
    """The ground along a path: heights at distances from its start, and the slopes of its moves."""

    distance: Annotated[list[float], Field(description="In m; in moves if the map has no scale.")]
    height: Annotated[list[float | None], Field(description="Null where it is not known.")]
    slopes: Annotated[list[Slopes | None], Field(description="By move.")]


class Way(Answer):
    """The return path from a cell."""

    cell: int
    bound: float
    home: list[int]
    edges: list[Edge]
    profile: Annotated[
        Profile | None, Field(description="Null unless `profile=1` asks for it, or without moves.")
    ]


class Ghosts(Answer):
    """The way home from a cell in worlds drawn from the belief after a step."""

    step: int
    cell: int
    bound: Annotated[float, Field(description="Proven probability of coming home.")]
    path: Annotated[list[int], Field(description="Cells of the way; empty if no way is proven.")]
    lost: Annotated[
        list[int | None],
        Field(description="By world: index in the path of the cell whose move fails, or null."),
    ]


class ExampleWorld(Answer):
    """One example world as a map to draw."""

    name: str
    title: str
    story: str
    map: str


class GraphState(Answer):
    """One state of a counterexample, and its place in the drawing."""

    name: str
    x: float
    y: float


class GraphEdge(Answer):
    """One transition of a counterexample."""

    from_: Annotated[str, Field(alias="from")]
    to: str
    action: str
    p: float


class GraphWorld(Answer):
    """One possible world of a counterexample."""

    weight: float
    edges: list[GraphEdge]


class PolicyRow(Answer):
    """The safety of one policy: of the naive definition, exact, and the lower bound."""

    label: str
    naive: float | None
    exact: float | None
    bound: float | None


class Counterexample(Answer):
    """One of the paper's counterexamples."""

    name: str
    title: str
    story: str
    delta: float
    discount: float = Field(description="The process goes on with this probability per step.")
    states: list[GraphState]
    worlds: list[GraphWorld]
    rows: list[PolicyRow]


class Examples(Answer):
    """The example worlds and the counterexamples."""

    worlds: list[ExampleWorld]
    counterexamples: list[Counterexample]


class Defaults(Answer):
    """What a run on a terrain uses if nothing else is given."""

    cell: Annotated[float, Field(description="Side of a cell in m.")]
    sensor_range: Annotated[float | None, Field(description="In m; null for the whole map.")]
    delta: float


class Upload(Answer):
    """An uploaded raster."""

    upload: str
    name: str
    sha256: Annotated[str, Field(description="Digest of the file as it was sent.")]
    shape: Shape
    size: Size
    bands: Annotated[int, Field(description="Bands of the file; the first has the heights.")]
    unit: Literal["m"]
    crs: str | None
    defaults: Defaults
    preview: list[list[float | None]]


class UploadedArea(Answer):
    """Uploaded polygons."""

    upload: str
    name: str
    sha256: Annotated[str, Field(description="Digest of the file as it was sent.")]
    polygons: int
    corners: int


class NewRun(Answer):
    """A new run to create."""

    kind: str
    name: str | None = None
    config: dict[str, Any] = {}


class Report(BaseModel):
    """A report of a vehicle; the kind of the mission reads the measurements."""

    model_config = ConfigDict(extra="allow")

    id: Annotated[str | None, Field(description="A second report with this id is ignored.")] = None
    time: Annotated[str | None, Field(description="ISO 8601 with a time zone.")] = None
    position: Annotated[Any, Field(description="[row, column], or {x, y} on the map.")] = None
    tried: Annotated[str | int | None, Field(description="The move that was tried.")] = None
    moved: Annotated[bool, Field(description="The vehicle came there by other means.")] = False
    used: Annotated[list[float] | None, Field(description="If moved: used of each limit.")] = None


class Again(Answer):
    """Levels at which to repeat a run in the same world."""

    deltas: Annotated[list[float], Field(min_length=1, max_length=5)]


class NewRuns(Answer):
    """Runs that were started together."""

    runs: list[Summary]


class Resume(Answer):
    """How to resume a run."""

    steps: Annotated[
        int | None,
        Field(ge=1, le=MAX_STEPS, description="New maximum of a run that ended at its maximum."),
    ] = None


class RunFile(Answer):
    """A file of a run."""

    name: str
    bytes: int


class Files(Answer):
    """The files of a run that can be downloaded."""

    files: list[RunFile]


class Certificate(Answer):
    """The verdict on the bounds that a run claims."""

    run: str
    step: int
    refuted: bool
    details: dict[str, Any]


class StepsEvent(Answer):
    """Event `steps`: the steps after `from`, up to `to`, were recorded."""

    id: str
    from_: Annotated[int, Field(alias="from")]
    to: int
    status: Status


class GoneEvent(Answer):
    """Event `gone`: the folder of the run was deleted."""

    id: str


class RunsEvent(Answer):
    """Event `runs`: runs that are new or changed, and runs that were deleted (`gone`)."""

    count: int
    changed: list[str]
    gone: list[str]


EVENTS: dict[str, type[Answer]] = {
    "steps": StepsEvent,
    "status": Summary,
    "gone": GoneEvent,
    "runs": RunsEvent,
}
"""Data of each event of the stream, by its name."""
