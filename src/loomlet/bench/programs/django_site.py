"""A Django site on SQLite, under `runserver`.

    python django_site.py FOLDER PORT

`/writes` counts its calls in the session, which is kept in the database; `/reads` counts the
sessions.
"""

from __future__ import annotations

import sys
from pathlib import Path

from django.conf import settings
from django.core.management import execute_from_command_line
from django.http import HttpRequest, HttpResponse
from django.urls import path


def writes(request: HttpRequest) -> HttpResponse:
    """Reads and writes the session."""
    request.session["count"] = count = request.session.get("count", 0) + 1
    return HttpResponse(str(count))


def reads(request: HttpRequest) -> HttpResponse:
    """Reads only."""
    from django.contrib.sessions.models import Session

    return HttpResponse(str(Session.objects.count()))


urlpatterns = [path("writes", writes), path("reads", reads)]


def main(folder: str, port: str) -> None:
    """Makes the database and serves."""
    database = {"ENGINE": "django.db.backends.sqlite3", "NAME": str(Path(folder) / "data")}
    settings.configure(
        ALLOWED_HOSTS=["*"],
        DATABASES={"default": database},
        INSTALLED_APPS=["django.contrib.sessions"],
        LOGGING_CONFIG=None,
        MIDDLEWARE=["django.contrib.sessions.middleware.SessionMiddleware"],
        ROOT_URLCONF=__name__,
        SECRET_KEY="of the bench",
    )
    execute_from_command_line(["site", "migrate", "--verbosity", "0"])
    options = ["--noreload", "--skip-checks", f"127.0.0.1:{port}"]
    execute_from_command_line(["site", "runserver", *options])


if __name__ == "__main__":
    main(*sys.argv[1:])
