"""Everything that an operator can set, read once from the environment."""

import re
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct, inspect
from msgspec.structs import fields

from service.addresses import Proxies

Port = Annotated[int, Meta(ge=1, le=65_535)]
Count = Annotated[int, Meta(ge=0, le=1_000_000_000)]
Bytes = Annotated[int, Meta(ge=1_024, le=1_073_741_824)]

INTEGER = re.compile(r"0|[1-9][0-9]*")
SENT = re.compile(r"[!-~]+")

HOST = r"(\[[0-9a-fA-F:.]+\]|[^\s/,:@?#\[\]]+)(:[0-9]{1,5})?"
HOSTS = rf"([^\s/?#]*@)?{HOST}(,{HOST})*"
WEB_HOST = r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._~%-]+)(:[0-9]{1,5})?"
WEB_PATH = r"(/[A-Za-z0-9._~%!$&'()*+,;=:@-]+)*"
ORIGIN = re.compile(rf"\*|https?://{WEB_HOST}")

# What a text must look like, and how that is said.
SHAPES = {
    "REDIS_URL": (
        re.compile(
            r"(rediss?|unix)://([^\s/?#]*@)?[^\s+@][^\s@]*"  # a password with / ? # would be read as host and path
            rf"|rediss?\+sentinel://{HOSTS}/[^\s/?#]+(/[0-9]+)?(\?\S*)?"
            rf"|rediss?\+cluster://{HOSTS}(/0?)?(\?\S*)?"
        ),
        "must look like redis://host:6379/0, rediss://…, unix:///path, redis+sentinel://host:26379,host:26379/master/0 or "
        "redis+cluster://host:6379,host:6379; in a password, / ? # @ are written %2F %3F %23 %40",
    ),
    "PUBLIC_URL": (
        re.compile(f"https?://{WEB_HOST}{WEB_PATH}"),
        "must be an http(s) address in ASCII (a host's name as xn--…, a path percent-encoded) "
        "without password, query or final slash",
    ),
}
SECRETS = {"EMBERDICE_API_KEY": "key", "EMBERDICE_METRICS_TOKEN": "token"}


# Names that other software of this kind uses too; all else has our own prefix.
VARIABLES = {name: name.upper() for name in ("host", "port", "workers", "redis_url", "data_dir", "public_url")}


# What the bots and scripts of deploy/integrations are told: they may run in the same environment.
OF_CALLERS = frozenset(f"EMBERDICE_{name}" for name in ("URL", "SESSION", "TOKEN", "TABLES", "KEY"))


def _variable(name: str) -> str:
    return VARIABLES.get(name, f"EMBERDICE_{name.upper()}")


class Settings(Struct, frozen=True, kw_only=True, rename=_variable):
    host: str = "127.0.0.1"
    port: Port = 8000
    workers: Annotated[int, Meta(ge=1, le=256)] = 1
    redis_url: str = ""
    data_dir: str = "data"
    public_url: str = ""
    cors_origins: str = "*"
    max_body_bytes: Bytes = 1_048_576
    max_import_bytes: Bytes = 8_388_608
    trusted_proxies: str = ""
    access_log: bool = True
    session_days: Annotated[int, Meta(ge=1, le=365)] = 30
    max_sessions: Count = 100_000
    creations_per_minute: Count = 600
    failures_per_minute: Count = 300
    steps_per_second: Count = 1_000
    token_steps_per_second: Count = 1_000
    stateless_per_second: Count = 0
    api_key: str = ""
    max_streams: Count = 2_000
    streams_per_address: Count = 500
    metrics: bool = True
    metrics_token: str = ""


class WrongSetting(Exception):
    """A variable that cannot be used, in words."""


def read(environ: Mapping[str, str]) -> Settings:
    """Raises WrongSetting, naming the variable."""
    given = {name: environ[name] for name in Settings.__struct_encode_fields__ if environ.get(name)}
    told = sorted(name for name in environ if name.startswith("EMBERDICE_") and environ[name])
    unknown = [name for name in told if name not in given and name not in OF_CALLERS]
    if unknown:
        raise WrongSetting(f"{unknown[0]} is not a setting; the README lists them all")
    for name, value in given.items():
        _check(name, value)
    return msgspec.convert(given, Settings, strict=False)


def without_password(address: str) -> str:
    """Also where it is not well-formed: all that may be a password is left out."""
    scheme = match[0] if (match := re.match(r"[a-z+]*://", address)) else ""
    login, at, place = address.removeprefix(scheme).rpartition("@")
    if "?" in login:
        return f"{scheme}…"
    place, asks, _ = place.partition("?")
    return f"{scheme}{'…@' if at else ''}{place}{'?…' if asks else ''}"


def _check(name: str, value: str) -> None:
    field = {each.encode_name: each for each in fields(Settings)}[name]
    if isinstance(field.default, int) and not isinstance(field.default, bool) and not INTEGER.fullmatch(value):
        raise WrongSetting(f"{name}={value}: must be a whole number in plain digits")
    if name in SHAPES and not SHAPES[name][0].fullmatch(value):
        raise WrongSetting(f"{name}={without_password(value)}: {SHAPES[name][1]}")
    if name in SECRETS and not SENT.fullmatch(value):
        raise WrongSetting(f"{name}: a {SECRETS[name]} is sent in a header: ASCII without spaces, line ends or accents")
    if name == "EMBERDICE_CORS_ORIGINS" and not all(ORIGIN.fullmatch(each.strip()) for each in value.split(",")):
        raise WrongSetting(f"{name}={value}: must be * or origins like https://table.example in ASCII, separated by commas")
    if name == "EMBERDICE_TRUSTED_PROXIES":
        _check_proxies(name, value)
    try:
        msgspec.convert({name: value}, Settings, strict=False)
    except msgspec.ValidationError:
        raise WrongSetting(f"{name}={value}: {_asked(field.type)}") from None


def _asked(type_: Any) -> str:
    kind = inspect.type_info(type_)
    if isinstance(kind, inspect.IntType):
        return f"must be a whole number from {kind.ge} to {kind.le}"
    return "must be true or false"


def _check_proxies(name: str, value: str) -> None:
    try:
        Proxies(value)
    except ValueError:
        raise WrongSetting(f"{name}={value}: must be addresses or networks like 10.0.0.0/8, separated by commas") from None
