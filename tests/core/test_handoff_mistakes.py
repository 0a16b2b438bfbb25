"""Each line of the handoff protocol is needed: without it, or with another, the model finds why.

`src/core/sched/handoff.c` is changed in one place, built with the model of `handoff.c` here, and
the model's tests run until one fails.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers_c_programs import CORE, HERE, call, compile_c

PROTOCOL = CORE / "sched" / "handoff.c"
MODEL = ("handoff", "handoff_actions", "handoff_world", "explore", "runner")
pytestmark = pytest.mark.stress
OTHERS = "the_model_finds_"  # a test of another kind

# What is changed: where in the protocol, and into what.
MISTAKES = {
    "takes_in_transit": ("!h->in_transit && !h->idle", "!h->idle"),
    "takes_what_is_idle": ("!h->in_transit && !h->idle", "!h->in_transit"),
    "takes_what_is_forbidden": ("!h->forbidden && ", ""),
    "takes_what_is_closed": (" && !h->forbidden && !h->closed;", " && !h->forbidden;"),
    "leaves_it_running": ("from->state = S_CARRIER_SITS;", ""),
    "calls_anybody": ("(c->state != S_CARRIER_FREE && !stands_at_base(h, c))", "0"),
    "never_forgets_a_call": ("h->called = NULL;", ";"),
    "forgets_no_call_that_failed": ("forget_call(h, c);\n    s_handoff_leave", "s_handoff_leave"),
    "forgets_no_call_when_settled": ("forget_call(h, c);\n    leave_res", "leave_res"),
    "keeps_a_thread_that_failed": ("s_handoff_leave(c, 1);", ""),
    "stays_in_transit": ("h->at = c;\n    h->in_transit = 0;", "h->at = c;"),
    "does_not_arrive": ("h->in_transit && h->at == c) {", "0) {"),
    "arrives_at_any_base": ("h->in_transit && h->at == c) {", "h->in_transit) {"),
    "runs_at_two": ("from->state = S_CARRIER_WAITS;", ""),
    "is_never_in_transit": ("h->at = to;\n    h->in_transit = 1;", "h->at = to;"),
    "keeps_the_used_reserve": ("    leave_reserve(h, c);\n    c->state", "    c->state"),
    "keeps_who_left_the_reserve": ("*at = c->below;", ";"),
    "reserves_twice": ("if (!c->in_reserve)\n            join", "if (1)\n            join"),
    "reserves_nothing": ("            join_reserve(h, c);", "            ;"),
    "does_not_count_sitters": ("c->kept += hard != 0;", ""),
    "counts_soft_ones": ("c->kept += hard != 0;", "c->kept++;"),
    "sits_after_meeting": (
        "c->state = S_CARRIER_WAITS;\n    return 1;\n}\n\n/* ---- idle",
        "return 1;\n}\n\n/* ---- idle",
    ),
    "meets_what_has_ended": ("if (c->state == S_CARRIER_LOST)", "if (0)"),
    "picks_up_what_is_used": (
        "c->state != S_CARRIER_SITS || !h->idle",
        "c->state != S_CARRIER_SITS",
    ),
    "picks_up_nothing_but_goes_on": (
        "|| !h->idle)\n        return 0;\n    h->idle = 0;",
        "|| !h->idle)\n        return 0;\n    return 1;",
    ),
    "is_idle_for_ever": ("        return 0;\n    h->idle = 0;\n", "        return 0;\n"),
    "is_idle_when_awake": (
        "    h->idle = 0;\n    return h->home->state",
        "    return h->home->state",
    ),
    "wakes_for_what_has_gone": ("return h->home->state == S_CARRIER_RUNS;", "return 1;"),
    "is_idle_at_two": ("    h->home->state = S_CARRIER_WAITS;\n", ""),
    "still_sits": (
        "    h->home->state = S_CARRIER_WAITS;\n    c->sitter = NULL;",
        "    h->home->state = S_CARRIER_WAITS;",
    ),
    "goes_where_somebody_sits": ("stands_at_base(h, kept_at) && !h->closed", "!h->closed"),
    "goes_when_closed": ("stands_at_base(h, kept_at) && !h->closed", "stands_at_base(h, kept_at)"),
    "goes_home_when_home_sits": ("stands_at_base(h, h->home) ? h->home : h->at", "h->home"),
    "stays_away_from_home": ("stands_at_base(h, h->home) ? h->home : h->at", "h->at"),
    "resumes_kept_ones_here": (
        "if (kept_at != NULL)\n        return stands",
        "if (0)\n        return stands",
    ),
    "is_apart_where_others_are": ("h->at->kept == 0 ? h->at : h->reserve", "h->at"),
    "is_never_apart": ("if (apart && empty != NULL)", "if (0)"),
    "is_always_apart": ("if (apart && empty != NULL)", "if (empty != NULL)"),
    "home_leaves": ("c == h->home || c->kept > 0", "c->kept > 0"),
    "leaves_what_it_keeps": ("c->kept > 0 || h->called == c", "h->called == c"),
    "leaves_when_called": ("c->kept > 0 || h->called == c ||", "c->kept > 0 ||"),
    "leaves_in_transit": ("h->invited == c || h->at == c)", "h->invited == c)"),
    "goes_to_nobody": ("    if (!stands_ready(h, to))\n        return 0;\n", ""),
    "goes_to_who_was_called_anew": ("!stands_ready(h, to)", "!stands_at_base(h, to)"),
    "is_invited_for_ever": ("h->invited = NULL;", ";"),
    "is_a_reserve_for_ever": ("leave_reserve(h, h->reserve);", "h->reserve = NULL;"),
    "leaves_as_reserve": ("leave_reserve(h, c);\n    s_handoff_drop", "s_handoff_drop"),
    "child_knows_others": (
        "*h = (s_handoff){.at = me, .home = me, .closed = h->closed};",
        "h->at = h->home = me;",
    ),
    "child_has_no_home": (".at = me, .home = me,", ".at = me, .home = h->home,"),
    "child_sits": ("me->state = S_CARRIER_RUNS;\n    me->sitter", "me->sitter"),
    "closes_nothing": ("h->closed = 1;", ""),
    "loses_nothing": ("c->state = S_CARRIER_LOST;\n    c->serves = NULL;", ""),
}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The object files of the model."""
    folder = tmp_path_factory.mktemp("model")
    for name in MODEL:
        compile_c("-c", str(HERE / f"{name}.c"), "-o", str(folder / f"{name}.o"))
    return [str(folder / f"{name}.o") for name in MODEL]


def build(model: list[str], protocol: str, folder: Path) -> Path:
    """The model with a protocol."""
    changed, program = folder / "protocol.c", folder / "model"
    changed.write_text(protocol)
    compile_c(
        *model, str(changed), "-Wl,--wrap=realloc,--wrap=calloc", "-pthread", "-o", str(program)
    )
    return program


def first_failure(program: Path) -> str | None:
    """The first test of the model that fails, the small ones first."""
    for name in sorted(call(str(program), "--list").stdout.split(), key=order):
        if not name.startswith(OTHERS) and call(str(program), name).returncode:
            return name
    return None


def order(name: str) -> int:
    """Small models first."""
    text = (HERE / "handoff.c").read_text()
    return text.rindex(name)


def test_the_protocol_as_it_is_has_no_failure(model: list[str], tmp_path: Path) -> None:
    """The same build and the same tests: what fails below fails for the mistake."""
    assert first_failure(build(model, PROTOCOL.read_text(), tmp_path)) is None


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_the_protocol_is_found(mistake: str, model: list[str], tmp_path: Path) -> None:
    """One change of one place."""
    text, (old, new) = PROTOCOL.read_text(), MISTAKES[mistake]
    assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in the protocol"
    found = first_failure(build(model, text.replace(old, new), tmp_path))
    assert found is not None, "no test of the model fails"
