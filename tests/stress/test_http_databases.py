"""A thousand clients and a hundred connections to a real PostgreSQL: no request fails.

By a pool of psycopg, one of SQLAlchemy, and Django with CONN_MAX_AGE, whose connections belong to
threads: there the requests at once are limited, and a connection ends with its request, though the
process that had it ends a little later.
"""

import contextlib
import resource
from importlib.util import find_spec

import helpers_servers
import pytest
from helpers_http_clients import Clients
from helpers_serving import Serving

CLIENTS = 1000
CONNECTIONS = 100
QUERY = "SELECT count(*), pg_sleep(0.01) FROM pg_stat_activity WHERE application_name = 'site'"
SOURCE = "host=127.0.0.1 port={port} user=postgres dbname=postgres application_name=site"

PSYCOPG = """
import psycopg_pool
pool = psycopg_pool.ConnectionPool({source!r}, min_size=10, max_size={connections}, timeout=60)

def app(environ, start_response):
    with pool.connection() as connection:
        [count, _] = connection.execute({query!r}).fetchone()
    start_response("200 OK", [])
    return [str(count).encode()]
"""

SQLALCHEMY = """
import psycopg
import sqlalchemy
engine = sqlalchemy.create_engine(
    "postgresql+psycopg://", creator=lambda: psycopg.connect({source!r}),
    pool_size={connections}, max_overflow=0, pool_timeout=60)

def app(environ, start_response):
    with engine.begin() as connection:
        count = connection.execute(sqlalchemy.text({query!r})).one()[0]
    start_response("200 OK", [])
    return [str(count).encode()]
"""

DJANGO = """
from django.conf import settings
settings.configure(
    MIDDLEWARE=["django.middleware.common.CommonMiddleware"],
    SECRET_KEY="none", ALLOWED_HOSTS=["*"], ROOT_URLCONF=__name__,
    DATABASES={{"default": {{
        "ENGINE": "django.db.backends.postgresql", "CONN_MAX_AGE": 60, "CONN_HEALTH_CHECKS": True,
        "HOST": "127.0.0.1", "PORT": {port}, "USER": "postgres", "NAME": "postgres",
        "OPTIONS": {{"application_name": "site"}}}}}})
from django.core.wsgi import get_wsgi_application
from django.db import connection
from django.http import HttpResponse
from django.urls import path

def view(request):
    with connection.cursor() as cursor:
        cursor.execute({query!r})
        return HttpResponse(str(cursor.fetchone()[0]))

urlpatterns = [path("", view)]
app = get_wsgi_application()
"""

SITES = {
    "psycopg_pool": (PSYCOPG, "psycopg_pool", [], CONNECTIONS),
    "SQLAlchemy": (SQLALCHEMY, "sqlalchemy", [], CONNECTIONS),
    "Django": (DJANGO, "django", ["--limit-concurrency", str(CONNECTIONS)], 4 * CONNECTIONS),
}


@pytest.fixture(scope="module")
def port():
    """Of a PostgreSQL."""
    with contextlib.ExitStack() as stack:
        try:
            yield stack.enter_context(helpers_servers.running("postgresql")).port
        except helpers_servers.NoServer as error:
            pytest.skip(f"no postgresql server: {error}")


@pytest.fixture
def serve(tmp_path):
    """Starts a server of an application of that text."""
    made = []

    def start(text, flags):
        (tmp_path / "site_app.py").write_text(text)
        made.append(Serving(tmp_path, "site_app:app", "--port", "0", *flags))
        return made[-1]

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 3 * CLIENTS:
        pytest.skip(f"this test needs {3 * CLIENTS} descriptors, and {hard} are allowed")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 3 * CLIENTS), hard))
    yield start
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    for one in made:
        one.close()


@pytest.mark.parametrize("name", SITES)
def test_no_request_fails(serve, port, scaled, name):
    text, library, flags, most = SITES[name]
    for module in (library, "psycopg"):
        if find_spec(module) is None:
            pytest.skip(f"{module} is not installed")
    source = SOURCE.format(port=port)
    text = text.format(source=source, port=port, query=QUERY, connections=CONNECTIONS)
    server = serve(text, flags)
    assert server.get()[0] == 200
    with Clients(server.port, CLIENTS, keeps=True) as clients:
        clients.wait_for(scaled(CLIENTS))
    assert set(clients.count) == {200}, server.log
    assert 1 < max(map(int, clients.bodies)) <= most
    assert server.end() == 0
    assert "Traceback" not in server.log
