"""What the operator keeps secret is not printed: not when a setting is refused, not when Redis is away or refuses it."""

import httpx
import pytest

from service.__main__ import check_address
from service.settings import Settings, WrongSetting, read
from tests.live import Service, until

SECRET = "s3cr3t-of-the-operator"

REFUSED = [
    f"http://user:{SECRET}@redis.example",
    f"redis://user:{SECRET}@redis.example:port",
    f"redis://:a/{SECRET}@redis.example:6379",
    f"redis://:{SECRET} @redis.example",
    f"redis+sentinel://:{SECRET}@redis.example",
    f"redis+cluster://:{SECRET}@a,b:c",
    f"{SECRET}@redis.example",
    f"redis://:{SECRET}/a@redis.example",
    f"redis://:a?{SECRET}@redis.example",
    f"redis://:a#{SECRET}@redis.example",
    f"unix://:a/{SECRET}@/run/redis.sock",
]


@pytest.mark.parametrize("url", REFUSED)
def test_a_refused_address_of_redis_is_said_without_its_password(url):
    with pytest.raises((WrongSetting, SystemExit)) as refused:
        check_address(read({"REDIS_URL": url}).redis_url)
    assert "REDIS_URL=" in str(refused.value)
    assert SECRET not in str(refused.value)
    assert refused.value.__cause__ is None


@pytest.mark.parametrize("away", [True, False], ids=["nobody answers", "the password is wrong"])
def test_a_redis_that_does_not_serve_is_told_of_without_its_password(away, service, tmp_path):
    url = f"redis://user:{SECRET}@127.0.0.1:1/0" if away else f"{service.redis_url}?username=nobody&password={SECRET}"
    other = Service(tmp_path, workers=1, REDIS_URL=url, EMBERDICE_METRICS_TOKEN=SECRET)
    other.is_ready = lambda: _alive(other)
    try:
        other.start()
        answer = httpx.get(f"{other.address}/health/ready")
        assert (answer.status_code, answer.json()["code"]) == (503, "store-unavailable")
        until(lambda: "warning" in other.log)
        opened = httpx.post(f"{other.address}/v1/sessions", json={})
        assert opened.status_code == 503
    finally:
        other.kill()
    assert SECRET not in other.log + answer.text + opened.text


def _alive(service):
    try:
        return httpx.get(f"{service.address}/health/live").is_success
    except httpx.TransportError:
        return False


def test_no_setting_is_shown_to_callers(service):
    """The contract and the pages are the same whoever runs the service: nothing of its settings is in them."""
    text = "".join(httpx.get(f"{service.address}{path}").text for path in ("/openapi.json", "/docs", "/v1/systems"))
    assert not any(name in text for name in Settings.__struct_encode_fields__ if name.startswith("EMBERDICE_"))
    assert service.redis_url not in text
