"""A1: what a character is measured by. Any aptitude goes with any qualification."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated

from msgspec import Meta


class Aptitude(StrEnum):
    PHYSIQUE = "physique"
    REACTIVITY = "reactivity"
    COGNITION = "cognition"
    PERCEPTION = "perception"
    SOCIAL = "social"
    CONTROL = "control"


class Qualification(StrEnum):
    ENDURANCE = "endurance"
    MOBILITY = "mobility"
    HARDWARE = "hardware"
    CONTACT = "contact"
    DODGE = "dodge"
    PILOTING = "piloting"
    ANALYSIS = "analysis"
    SOFTWARE = "software"
    LOGISTICS = "logistics"
    INSPECTION = "inspection"
    VIGILANCE = "vigilance"
    STEALTH = "stealth"
    ASCENDANCY = "ascendancy"
    PROTOCOL = "protocol"
    NEGOTIATION = "negotiation"
    WETWARE = "wetware"
    SHOOTING = "shooting"
    RESILIENCE = "resilience"


Value = Annotated[int, Meta(ge=0, le=3, description="Dice that it gives (A1).")]

# A1: the qualifications that the book lists under each aptitude.
HOME: Mapping[Aptitude, tuple[Qualification, ...]] = {
    aptitude: tuple(Qualification)[3 * at : 3 * at + 3] for at, aptitude in enumerate(Aptitude)
}

# A6: who rolls what for each care; A5: and for each soak.
CARE_POOLS = {
    "treat_damage": (Aptitude.CONTROL, Qualification.WETWARE),
    "calm_self": (Aptitude.CONTROL, Qualification.RESILIENCE),
    "calm_other": (Aptitude.SOCIAL, Qualification.ASCENDANCY),
}
SOAK_POOLS = {
    "grit": (Aptitude.PHYSIQUE, Qualification.ENDURANCE),
    "composure": (Aptitude.CONTROL, Qualification.RESILIENCE),
}
