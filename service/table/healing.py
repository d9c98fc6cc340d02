"""A6 at a table: the sheet or the request gives the level, the session the limits, the clock the time."""

from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from service.dice import FacesSource
from service.errors import HealingRefused, InvalidValue, NotAllowed
from service.systems.sixd6 import healing
from service.systems.sixd6.character import CARE_POOLS
from service.systems.sixd6.healing import TRACK_HEALED, Care, Healed, Level, Timers, Track, Treatment, Window
from service.table import characters, decks, sheets
from service.table.audience import Visibility
from service.table.clock import Moment, moment
from service.table.records import Character
from service.table.rolls import Cast, cards_for, thrown, told
from service.table.turn import Turn

Points = Annotated[int, Meta(ge=0, le=20)]


class WindowFacts(Struct, frozen=True, kw_only=True):
    """R15. `closes` is null while no window is open."""

    healed: Points
    tier_size: healing.TierSize | None
    closes: Moment | None


class HealingRoll(Healed, frozen=True, kw_only=True):
    care: Care
    patient: characters.Identifier
    patient_name: Annotated[str, Meta(max_length=64)]
    carer: characters.Identifier
    track: Track
    window: WindowFacts
    next_roll: Annotated[Moment, Meta(description="When this care may next be rolled for this patient.")]
    drawn: tuple[decks.DealtCard, ...]
    undealt: Annotated[int, Meta(ge=0, le=1_000, description="Cards that the deck could not deal (R19).")]
    source: FacesSource
    label: Annotated[str, Meta(max_length=100)] | None
    visibility: Visibility
    roller: Annotated[str, Meta(max_length=32, description="Id of the token that rolled.")]
    event: str


class CareStatus(Struct, frozen=True, kw_only=True):
    care: Care
    ready: bool
    next_roll: Moment


class TrackStatus(Struct, frozen=True, kw_only=True):
    track: Track
    level: Level | None
    window: WindowFacts


class HealingStatusFacts(Struct, frozen=True, kw_only=True):
    patient: characters.Identifier
    cares: tuple[CareStatus, ...]
    tracks: tuple[TrackStatus, ...]
    event: str | None = None


def is_ahead(character: Character, elapsed_ms: int) -> bool:
    """Whether it was healed at a time that is still to come."""
    timers = character.timers
    times = (*timers.rolled_ms.values(), *(window.opened_ms for window in timers.windows.values()))
    return max(times, default=0) > elapsed_ms


class Asked(Struct, frozen=True, kw_only=True):
    """A healing roll as it is asked for at a table, apart from its dice."""

    care: Care
    base: int | None = None
    red: int = 0
    carer: str | None = None
    level: int | None = None
    tier_size: int | None = None


def roll(turn: Turn, patient: str, asked: Asked, cast: Cast) -> HealingRoll:
    """Raises the refusals of A6 in their order; a refused roll rolls nothing and changes nothing."""
    character = characters.known(turn, patient)
    carer = _carer(turn, patient, asked)
    _allow(turn, patient, carer)
    base = sheets.base(turn, carer, CARE_POOLS[asked.care]) if asked.base is None else asked.base
    if base is None:
        raise InvalidValue("base", "base_without_sheet")
    track = TRACK_HEALED[asked.care]
    treatment = Treatment(
        care=asked.care,
        patient=patient,
        base=base,
        red=asked.red,
        level=_level(turn, patient, track, asked),
        tier_size=_tier_size(turn, asked),
        roll_limit=turn.head.settings.roll_limit,
    )
    try:
        (healed, timers), source = thrown(
            turn, cast, lambda dice: healing.treat(treatment, character.timers, turn.elapsed_ms, dice)
        )
    except HealingRefused as refused:
        refused.patient_name = character.name
        if refused.next_ms is not None:
            refused.next_roll = moment(turn.clock, refused.next_ms, turn.now_ms)
        raise
    turn.put(f"c:{patient}", replace(character, timers=timers))
    sheets.set_level(turn, patient, track, healed.after)
    facts = HealingRoll(
        **{name: getattr(healed, name) for name in healed.__struct_fields__},
        care=asked.care,
        patient=patient,
        patient_name=character.name,
        carer=carer,
        track=track,
        window=_window(turn, timers, track, treatment.tier_size),
        next_roll=_next_roll(turn, timers, asked.care, treatment.tier_size),
        **cards_for(turn, cast, healed.complications, carer),
        **told(turn, cast, source),
    )
    turn.tell("sixd6.healing", facts, character=patient, visibility=cast.visibility)
    return facts


def _carer(turn: Turn, patient: str, asked: Asked) -> str:
    """Who rolls (A6): the patient calms itself, never another; anyone may treat damage, the patient by default."""
    carer = None if asked.carer is None else characters.find(turn.characters(), asked.carer, "carer")
    if asked.care is Care.CALM_SELF and carer not in (None, patient):
        raise InvalidValue("carer", "carer_is_patient")
    if asked.care is Care.CALM_OTHER and carer is None:
        raise InvalidValue("carer", "missing")
    if asked.care is Care.CALM_OTHER and carer == patient:
        raise InvalidValue("carer", "carer_is_other")
    return carer or patient


def _allow(turn: Turn, patient: str, carer: str) -> None:
    """Whoever plays the carer or the patient may roll."""
    try:
        turn.allow_for(carer)
    except NotAllowed:
        turn.allow_for(patient)


def _level(turn: Turn, patient: str, track: Track, asked: Asked) -> int:
    """On the sheet; where there is none, as the request tells it, or as one told it before."""
    if asked.level is not None and sheets.find(turn, patient) is not None:
        raise InvalidValue(track, "level_on_sheet")
    level = sheets.level(turn, patient, track) if asked.level is None else asked.level
    if level is None:
        raise InvalidValue(track, "level_unknown")
    return level


def _tier_size(turn: Turn, asked: Asked) -> int | None:
    own = turn.head.settings.tier_size
    if own is not None and asked.tier_size not in (None, own):
        raise InvalidValue("tier_size", "tier_size_is_set", own=own)
    return own if own is not None else asked.tier_size


def _window(turn: Turn, timers: Timers, track: Track, tier_size: int | None) -> WindowFacts:
    window = timers.windows.get(track)
    if window is None or turn.elapsed_ms >= window.closes_ms:
        return WindowFacts(healed=0, tier_size=tier_size, closes=None)
    return WindowFacts(healed=window.healed, tier_size=tier_size, closes=moment(turn.clock, window.closes_ms, turn.now_ms))


def _next_roll(turn: Turn, timers: Timers, care: Care, tier_size: int | None) -> Moment:
    limit = turn.head.settings.roll_limit
    return moment(turn.clock, healing.next_roll_ms(timers, care, limit, tier_size, turn.elapsed_ms), turn.now_ms)


def status(turn: Turn, patient: str, event: str | None = None) -> HealingStatusFacts:
    character = characters.known(turn, patient)
    timers, tier_size = character.timers, turn.head.settings.tier_size
    moments = {care: _next_roll(turn, timers, care, tier_size) for care in Care}
    return HealingStatusFacts(
        patient=patient,
        cares=tuple(CareStatus(care=c, ready=m.remaining_seconds == 0, next_roll=m) for c, m in moments.items()),
        tracks=tuple(
            TrackStatus(
                track=track, level=sheets.level(turn, patient, track), window=_window(turn, timers, track, tier_size)
            )
            for track in Track
        ),
        event=event,
    )


def _track_status(turn: Turn, patient: str, timers: Timers, track: Track) -> TrackStatus:
    window = _window(turn, timers, track, turn.head.settings.tier_size)
    return TrackStatus(track=track, level=sheets.level(turn, patient, track), window=window)


def set_timer(turn: Turn, patient: str, care: Care, *, rolled_ago_ms: int, healed: int) -> HealingStatusFacts:
    """The gm's correction: this care was last rolled so long ago, and its window, opened then, has healed so much."""
    character = _corrected(turn, patient)
    rolled_ms = turn.elapsed_ms - rolled_ago_ms
    timers = Timers(
        rolled_ms={**character.timers.rolled_ms, care: rolled_ms},
        windows={**character.timers.windows, TRACK_HEALED[care]: Window(rolled_ms, healed)},
    )
    return _keep(turn, patient, replace(character, timers=timers))


def clear_timer(turn: Turn, patient: str, care: Care) -> HealingStatusFacts:
    """The gm's correction: as if this care had not been rolled; its track's window goes too."""
    character = _corrected(turn, patient)
    timers = Timers(
        rolled_ms={each: at for each, at in character.timers.rolled_ms.items() if each is not care},
        windows={each: window for each, window in character.timers.windows.items() if each is not TRACK_HEALED[care]},
    )
    return _keep(turn, patient, replace(character, timers=timers))


def _corrected(turn: Turn, patient: str) -> Character:
    turn.allow()
    return characters.known(turn, patient)


def _keep(turn: Turn, patient: str, character: Character) -> HealingStatusFacts:
    turn.put(f"c:{patient}", character)
    facts = status(turn, patient, turn.next_event)
    turn.tell("sixd6.timer", facts, character=patient)
    return facts
