"""Settings: what holds without any, and that a wrong one is refused in words before anything starts."""

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from service.settings import Settings, WrongSetting, read

ROOT = Path(__file__).parents[1]
DEFAULTS = msgspec.to_builtins(Settings())
NUMBERS = [name for name, default in DEFAULTS.items() if type(default) is int]
SWITCHES = [name for name, default in DEFAULTS.items() if type(default) is bool]


def refusal(**environ):
    with pytest.raises(WrongSetting) as refused:
        read(environ)
    return str(refused.value)


def test_no_variable_is_needed():
    assert read({}) == read({"PATH": "/bin", "HOME": "/", "emberdice_port": "1"}) == Settings()


def test_the_service_listens_to_this_machine_only_by_default():
    assert (Settings().host, Settings().port, Settings().workers, Settings().redis_url) == ("127.0.0.1", 8000, 1, "")


@pytest.mark.parametrize("name", DEFAULTS)
def test_every_variable_is_read(name):
    text, value = {int: ("42", 42), bool: ("false", False), str: ("https://dice.example", "https://dice.example")}[
        type(DEFAULTS[name])
    ]
    if name == "REDIS_URL":
        text = value = "redis://dice.example"
    if name == "EMBERDICE_TRUSTED_PROXIES":
        text = value = "10.0.0.1, fd00::/8"
    if name.endswith("_BYTES"):
        text, value = "2048", 2_048
    assert msgspec.to_builtins(read({name: text})) == {**DEFAULTS, name: value}


@pytest.mark.parametrize(
    "url",
    [
        "rediss://user:password@dice.example:6379/0?ssl_ca_certs=/etc/ca.pem",
        "unix:///run/redis.sock",
        "redis+sentinel://one:26379,two:26379/dice",
        "rediss+sentinel://user:p%40ss@[::1]:26379,two/dice/3?sentinel_password=secret",
        "redis+cluster://one:6379,two:6379,three:6379",
        "rediss+cluster://:password@one/0?ssl_cert_reqs=none",
    ],
)
def test_a_redis_is_one_server_or_a_master_that_sentinels_know_or_a_cluster(url):
    assert read({"REDIS_URL": url}).redis_url == url


WITH_A_SECRET = [
    # name, value, what may be shown of it
    ("REDIS_URL", "redis+cluster://user:SECRET@one:6379/1", "redis+cluster://…@one:6379/1"),
    ("REDIS_URL", "redis+sentinel://one?sentinel_password=SECRET&foo=1", "redis+sentinel://one?…"),
    ("REDIS_URL", "redis+magic://one?password=SECRET", "redis+magic://one?…"),
    ("REDIS_URL", "redis+sentinel://one?password=pass@SECRET", "redis+sentinel://…"),
    ("REDIS_URL", "redis://user:SECRET?SECRET@one", "redis://…"),
    ("REDIS_URL", "SECRET\n?SECRET@one", "…"),
    ("PUBLIC_URL", "https://user:SECRET@dice.example", "https://…@dice.example"),
    ("PUBLIC_URL", "https://dice.example/a?b=SECRET", "https://dice.example/a?…"),
]


@pytest.mark.parametrize(("name", "value", "shown"), WITH_A_SECRET)
def test_a_refused_address_does_not_say_its_password(name, value, shown):
    assert "SECRET" not in refusal(**{name: value})
    assert refusal(**{name: value}).startswith(f"{name}={shown}: ")


@pytest.mark.parametrize("name", ["EMBERDICE_API_KEY", "EMBERDICE_METRICS_TOKEN"])
@pytest.mark.parametrize("value", [" ", "secret\n", "sec ret", "sécret", "secret\x7f"])
def test_what_no_header_can_carry_is_neither_a_key_nor_a_token(name, value):
    assert refusal(**{name: value}).startswith(f"{name}: a ")
    assert "ret" not in refusal(**{name: value})


@pytest.mark.parametrize("url", ["https://xn--d1aqf.example/a%20b/c", "http://[::1]:8000", "http://127.0.0.1"])
def test_links_start_with_what_a_header_can_carry(url):
    assert read({"PUBLIC_URL": url}).public_url == url


def test_only_what_other_software_sets_too_goes_without_our_prefix():
    plain = {"HOST", "PORT", "WORKERS", "REDIS_URL", "DATA_DIR", "PUBLIC_URL"}
    assert {name for name in DEFAULTS if not name.startswith("EMBERDICE_")} == plain


@pytest.mark.parametrize("name", DEFAULTS)
def test_an_empty_variable_is_an_absent_one(name):
    assert read({name: ""}) == Settings()


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("value", ["many", "-1", "1.5", "0x10", "1_000", " 1", "null"])
def test_a_number_is_a_number(name, value):
    assert refusal(**{name: value}).startswith(f"{name}={value}: ")


@pytest.mark.parametrize("name", SWITCHES)
@pytest.mark.parametrize("value", ["maybe", "yes", "2", "null"])
def test_a_switch_is_true_or_false(name, value):
    assert refusal(**{name: value}).startswith(f"{name}={value}: ")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PORT", "65536"),
        ("WORKERS", "0"),
        ("WORKERS", "257"),
        ("EMBERDICE_SESSION_DAYS", "0"),
        ("EMBERDICE_SESSION_DAYS", "366"),
        ("EMBERDICE_MAX_BODY_BYTES", "1023"),
        ("EMBERDICE_MAX_BODY_BYTES", "1073741825"),
        ("PUBLIC_URL", "dice.example"),
        ("PUBLIC_URL", "ftp://dice.example"),
        ("PUBLIC_URL", "https://dice.example/"),
        ("PUBLIC_URL", "https://дом.example"),
        ("PUBLIC_URL", "https://dice.example/é"),
        ("PUBLIC_URL", "https://dice.example\r\nX: y"),
        ("EMBERDICE_CORS_ORIGINS", "https://дом.example"),
        ("REDIS_URL", "dice.example:6379"),
        ("REDIS_URL", "redis+sentinel://one:26379,two:26379"),
        ("REDIS_URL", "redis+sentinel:///dice"),
        ("REDIS_URL", "redis+sentinel://one,/dice"),
        ("REDIS_URL", "redis+sentinel://one/dice/zero"),
        ("REDIS_URL", "redis+cluster://one:6379,"),
        ("REDIS_URL", "redis+cluster://one:6379/1"),
        ("REDIS_URL", "redis+magic://one:6379"),
        ("REDIS_URL", "http://one:6379"),
        ("PORT", "8000.0"),
        ("PORT", "8e3"),
        ("EMBERDICE_CORS_ORIGINS", "https://table.example/"),
        ("EMBERDICE_TRUSTED_PROXIES", "proxy.example"),
        ("EMBERDICE_TRUSTED_PROXIES", "10.0.0.0/33"),
        ("EMBERDICE_MAX_SESSIONS", "1000000000000"),
        ("PUBLIC_URL", "https://dice example"),
        ("PUBLIC_URL", "https://"),
    ],
)
def test_a_value_out_of_bounds_is_refused_with_its_variable(name, value):
    assert refusal(**{name: value}).startswith(f"{name}={value}: ")


IN_WORDS = [
    ("PORT", "99999", "must be a whole number from 1 to 65535"),
    ("WORKERS", "0", "must be a whole number from 1 to 256"),
    ("EMBERDICE_METRICS", "maybe", "must be true or false"),
]


@pytest.mark.parametrize(("name", "value", "said"), IN_WORDS)
def test_what_a_value_must_be_is_said_in_words(name, value, said):
    assert refusal(**{name: value}) == f"{name}={value}: {said}"


@pytest.mark.parametrize("name", ["EMBERDICE_PORTS", "EMBERDICE_PORT", "EMBERDICE_", "EMBERDICE_access_log"])
def test_a_variable_of_ours_that_is_no_setting_is_refused(name):
    assert refusal(**{name: "1"}) == f"{name} is not a setting; the README lists them all"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PORT", "many"),
        ("EMBERDICE_SPEED", "9"),
        ("REDIS_URL", "redis://a?b=c"),
    ],
)
def test_the_service_does_not_start_with_a_wrong_setting(name, value, tmp_path):
    environ = {**os.environ, "DATA_DIR": str(tmp_path / "data"), name: value}
    ran = subprocess.run(
        [sys.executable, "-m", "service"], cwd=ROOT, env=environ, capture_output=True, text=True, timeout=60, check=False
    )
    assert ran.returncode == 1
    assert ran.stdout == ""
    assert ran.stderr.startswith(f"emberdice: {name}")
    assert ran.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
