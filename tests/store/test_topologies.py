"""REDIS_URL in all its forms: the whole service over a Cluster of three, and over a master that a Sentinel watches."""

import asyncio
import time

import pytest
from redis.crc import key_slot

from service.store import keys
from service.store.address import Kind, Node, read
from service.store.connection import WrongAddress, check, connect, connect_for_news
from service.store.live import Live
from service.store.log import Log
from tests.live import Table, in_process, until
from tests.servers import HOST, MASTER, ClusterServers, Sentinels

pytestmark = pytest.mark.anyio

DRAW = "POST /decks/light/draws"


# The address.

ADDRESSES = [
    # REDIS_URL                                  kind           hosts                              master   options
    ("redis://one/2", Kind.SINGLE, (), "", {"host": "one", "db": 2}),
    ("unix:///run/r.sock?db=1", Kind.SINGLE, (), "", {"path": "/run/r.sock", "db": 1}),
    ("redis+sentinel://a:1,b/dice", Kind.SENTINEL, (("a", 1), ("b", 26379)), "dice", {}),
    (
        "redis+sentinel://u:p%40@a/dice/3",
        Kind.SENTINEL,
        (("a", 26379),),
        "dice",
        {"username": "u", "password": "p@", "db": 3},
    ),
    ("redis+sentinel://[::1]:5,[::2]/d?db=4", Kind.SENTINEL, (("::1", 5), ("::2", 26379)), "d", {"db": 4}),
    ("redis+cluster://:p,q@a:1,b", Kind.CLUSTER, (("a", 1), ("b", 6379)), "", {"password": "p,q"}),
    ("redis+cluster://a/0?client_name=x", Kind.CLUSTER, (("a", 6379),), "", {"client_name": "x"}),
]


@pytest.mark.parametrize(("url", "kind", "nodes", "master", "options"), ADDRESSES)
def test_an_address_is_taken_apart(url, kind, nodes, master, options):
    told = read(url)
    unsaid = {name: value for name, value in told.options.items() if name != "connection_class"}
    assert (told.kind, told.nodes, told.master, unsaid) == (kind, tuple(Node(*each) for each in nodes), master, options)
    check(url)


@pytest.mark.parametrize("kind", ["redis{}://a:1", "redis{}+sentinel://a:1,b:2/dice", "redis{}+cluster://a:1,b:2"])
def test_tls_is_asked_for_by_an_s(kind):
    assert read(kind.format("s") + "?ssl_cert_reqs=none").tls
    assert not read(kind.format("")).tls


def test_sentinels_have_a_login_of_their_own_or_none():
    told = read("rediss+sentinel://u:p@a/dice?sentinel_password=s&ssl_cert_reqs=none")
    assert (told.options["password"], told.asking["password"], told.asking["username"]) == ("p", "s", None)
    assert told.asking["ssl_cert_reqs"] == "none"
    assert "sentinel_password" not in told.options


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("redis://a?colour=red", "colour is not an option here"),
        ("redis+cluster://a,b?colour=red", "colour is not an option here"),
        ("redis://a?max_connections=20", "max_connections is not an option here"),
        ("redis+sentinel://a/dice?decode_responses=true", "decode_responses is not an option here"),
        ("unix:///r.sock?retry=1", "retry is not an option here"),
        ("redis://a?retry", "retry is not an option here"),
        ("redis://a?ssl_cert_reqs=none", "ssl_cert_reqs is not an option here"),
        ("redis://a?sentinel_password=s", "sentinel_password is not an option here"),
        ("redis://a?socket_timeout=0", "socket_timeout must be seconds"),
        ("redis://a?socket_connect_timeout=nan", "socket_connect_timeout must be seconds"),
        ("redis://a?socket_timeout=soon", "socket_timeout"),
        ("redis://a/abc", "abc is no database"),
        ("rediss://a/1/2", "1/2 is no database"),
        ("redis://a?db=abc", "db"),
        ("redis+foo://a", "there is no redis[+]foo://"),
        ("redis+cluster://a?db=1", "no other database than 0"),
        ("redis+sentinel://a:99999/dice", "99999 is no port"),
        ("rediss://a?ssl_cert_reqs=perhaps", "perhaps"),
    ],
)
def test_an_address_that_can_lead_nowhere_is_refused(url, said):
    with pytest.raises(WrongAddress, match=said):
        check(url)


# A Cluster of three masters.


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with ClusterServers(tmp_path_factory.mktemp("cluster")).running() as cluster:
        yield cluster


@pytest.fixture(scope="module")
async def client(cluster, anyio_backend):
    settings = {"trusted_proxies": HOST, "creations_per_minute": 3}
    async with in_process(cluster.url, **settings) as client:
        yield client


@pytest.fixture
async def redis(cluster):
    """As the service's own."""
    redis = connect(cluster.url)
    yield redis
    await redis.aclose()


def home(cluster, table):
    return cluster.owner(key_slot(keys.session(table.id).encode()))


async def tables_at_every_node(cluster, client):
    found = {}
    while len(found) < len(cluster.masters):
        table = await Table.open(client, characters=["Zoé"])
        found.setdefault(home(cluster, table), table)
    return [*found.values()]


async def test_tables_live_at_every_node_of_a_cluster_and_play(cluster, client):
    for table in await tables_at_every_node(cluster, client):
        answers = await asyncio.gather(*(table.ask(DRAW, {}, key=f"k{n % 10}") for n in range(20)))
        assert {answer.status_code for answer in answers} == {200}
        assert (await table.get("/decks/light"))["draw_pile"] == 33
        assert len((await table.get("/events"))["events"]) == 10
        assert home(cluster, table).ask("EXISTS", keys.session(table.id)) == 1
        assert (await table.ask("DELETE ")).status_code == 200
        assert home(cluster, table).ask("EXISTS", keys.session(table.id)) == 0
    assert (await client.get("/health/ready")).status_code == 200


async def test_limits_hold_over_a_cluster(client):
    opened = [
        await client.post("/v1/sessions", json={}, headers={"X-Forwarded-For": f"203.0.113.{n}"}) for n in (1, 1, 1, 1, 2)
    ]
    assert [answer.status_code for answer in opened] == [201, 201, 201, 429, 201]


async def test_who_follows_a_table_hears_of_it_wherever_it_lives(cluster, client, redis):
    live = Live(Log(redis), lambda: connect_for_news(cluster.url))
    try:
        for table in await tables_at_every_node(cluster, client):
            hearing = asyncio.create_task(anext(aiter(live.follow(table.id, 1))))
            await asyncio.to_thread(until, lambda table=table: is_followed(cluster, table))
            await table.ask(DRAW, {})
            async with asyncio.timeout(5):
                (heard,) = await hearing
            assert heard.event.type == "cards.drawn"
    finally:
        await live.close()


def is_followed(cluster, table):
    return any(node.ask("PUBSUB", "CHANNELS", keys.log(table.id)) for node in cluster.nodes)


async def test_a_table_that_moves_to_another_node_is_found_there(cluster, client, redis):
    table = await Table.open(client, characters=["Zoé"])
    assert (await table.ask(DRAW, {}, key="before")).json()["draw_pile"] == 42
    was, slot = home(cluster, table), key_slot(keys.session(table.id).encode())
    new = next(node for node in cluster.masters if node is not was)
    names = {node: node.ask("CLUSTER", "MYID") for node in (was, new)}
    new.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", names[was])
    was.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", names[new])
    assert (
        await table.ask(DRAW, {})
    ).status_code == 503  # the session and its log are there, the reply that is not yet is not
    for key in was.ask("CLUSTER", "GETKEYSINSLOT", slot, 100):
        was.ask("MIGRATE", HOST, new.port, key, 0, 5_000)
    assert await redis.xlen(keys.log(table.id)) == 1  # redirected for this once
    for node in (new, was, *cluster.masters):
        node.ask("CLUSTER", "SETSLOT", slot, "NODE", names[new])
    again = await table.ask(DRAW, {}, key="before")
    assert (again.json()["draw_pile"], again.headers["Idempotency-Replayed"]) == (42, "true")
    assert (await table.ask(DRAW, {})).json()["draw_pile"] == 41
    assert home(cluster, table) is new


async def test_a_node_that_is_away_is_no_concern_of_the_other_tables(cluster, client):
    """Without replicas the tables of a dead node answer 503, and are back with it."""
    lost, *others = await tables_at_every_node(cluster, client)
    home(cluster, lost).kill()
    dead = next(node for node in cluster.masters if not node.answers())
    for table in others:
        answers = await asyncio.gather(*(table.ask(DRAW, {}) for _ in range(5)))
        assert {answer.status_code for answer in answers} == {200}
    refused = await lost.ask(DRAW, {})
    assert (refused.status_code, refused.json()["code"], refused.headers["Retry-After"]) == (503, "store-unavailable", "1")
    assert (await client.get("/health/ready")).status_code == 200
    dead.start()
    await asyncio.to_thread(until, cluster.is_whole)
    assert (await lost.ask(DRAW, {})).json()["draw_pile"] == 42


# A master that a Sentinel watches.


async def test_a_failover_is_followed_and_keeps_what_was_acknowledged(tmp_path):
    with Sentinels(tmp_path, down_after_ms=500).running() as servers:
        async with in_process(servers.url) as client:
            table = await Table.open(client, characters=["Zoé"])
            answer = await table.ask(DRAW, {}, key="before")
            old, new = servers.master(), servers.replica()
            assert old.ask("WAIT", 1, 5_000) == 1
            old.kill()
            async with asyncio.timeout(15):
                while (again := await table.ask(DRAW, {}, key="before")).status_code != 200:
                    assert again.status_code == 503
            assert (again.content, again.headers["Idempotency-Replayed"]) == (answer.content, "true")
            assert (await table.ask(DRAW, {})).json()["draw_pile"] == 41
            assert new.ask("EXISTS", keys.session(table.id)) == 1


async def test_a_master_that_is_replaced_while_it_is_alive_is_left_soon(tmp_path):
    """It takes writes for some ten seconds more. The first of the Sentinels is away."""
    with Sentinels(tmp_path).running() as servers:
        async with in_process(servers.url.replace("//", f"//{HOST}:1,")) as client:
            table = await Table.open(client)
            old, new = servers.master(), servers.replica()
            assert old.ask("WAIT", 1, 5_000) == 1
            servers.watchers[0].ask("SENTINEL FAILOVER", MASTER)
            await asyncio.to_thread(until, lambda: servers.master() is new)
            give_up_s = time.monotonic() + 5
            while new.ask("HGET", keys.session(table.id), "version") == "1":
                assert (await table.ask(DRAW, {})).status_code in (200, 503, 409)
                assert time.monotonic() < give_up_s


async def test_no_sentinel_is_503():
    async with in_process(f"redis+sentinel://{HOST}:1,{HOST}:2/{MASTER}") as client:
        answer = await client.post("/v1/sessions", json={})
        assert (answer.status_code, answer.json()["code"]) == (503, "store-unavailable")
