"""c_stack_depth_at: the depth of the value stack before each instruction of real code.

Three sources of truth, none of them the C code under test:

- a data flow in Python, written with `dis`, for every code object of many modules of the standard
  library and of a page of unusual syntax;
- what the compiler noted itself: `co_stacksize`, and in the exception table the depth that each
  protected instruction has at least;
- depths counted by hand for instructions at which a tasklet may be suspended.

Python 3.11 has no soft switching: there the answer must always be "unknown".
"""

from __future__ import annotations

import asyncio
import dis
import gc
import importlib.util
import sys
import textwrap
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from importlib.machinery import SourceFileLoader
from types import CodeType, FunctionType
from typing import Any

import pytest

from loomlet import _core

COMPUTED = sys.version_info[:2] >= (3, 12)
# An instruction after which nothing runs, and a number that is no instruction: not for CPython
# either, which uses the highest numbers for its own instructions for tracing.
END = "RETURN_CONST 0" if "RETURN_CONST" in dis.opmap else "RAISE_VARARGS 0"
NONE = 255 if sys.version_info < (3, 14) else 127
# From 3.14 on the compiler warns of some of the unusual statements.
pytestmark = pytest.mark.filterwarnings("ignore:'(return|break|continue)' in a:SyntaxWarning")
needs_depth = pytest.mark.skipif(not COMPUTED, reason="this Python needs no computed depth")

UNIT = 2
NEVER_FALL_THROUGH = {
    "RETURN_VALUE",
    "RETURN_CONST",
    "RAISE_VARARGS",
    "RERAISE",
    "INTERPRETER_EXIT",
    "JUMP_FORWARD",
    "JUMP_BACKWARD",
    "JUMP_BACKWARD_NO_INTERRUPT",
}
MODULES = """
    argparse ast asyncio.base_events asyncio.locks asyncio.queues asyncio.streams asyncio.taskgroups
    asyncio.tasks asyncio.timeouts calendar collections concurrent.futures._base
    concurrent.futures.process concurrent.futures.thread configparser contextlib csv dataclasses
    datetime decimal difflib dis doctest email._header_value_parser email.message enum fractions
    functools http.client http.cookiejar http.server inspect json.decoder json.encoder logging
    logging.config mailbox multiprocessing.pool optparse pathlib pdb pickle pickletools platform
    pprint queue random re._compiler re._parser shutil socket ssl statistics subprocess tarfile
    tempfile textwrap threading tokenize traceback turtle types typing unittest.async_case
    unittest.case unittest.mock urllib.request uuid xml.dom.minidom xmlrpc.client zipfile
"""

UNUSUAL = """
async def producers(cms, items, other):
    async with cms[0] as a, cms[1]:
        async for x in items:
            if x: continue
            elif a: break
            try:
                await x(*a, **other)
            except* (OSError, KeyError) as group:
                yield [await i async for i in group if await i]
            except* ValueError:
                x()
            else:
                return
        else:
            await other
    yield {k: v async for k, v in items}

def delegating(gen):
    try:
        x = yield from gen
        y = yield (yield x)
    finally:
        yield 1, *(yield)
    return f"{x!r:>{y}} {x}" f"{y=}"

def matching(subject):
    match subject:
        case {"a": [1, *rest, 2], **others} if rest: return others
        case Point(x=0, y=[a, b]) | Point(x=[a, b]): return a + b
        case (1 | 2 as n), str(s): return n, s
        case None | True | 3.5: return
        case [*_]: pass
        case _: raise LookupError(subject) from None

def leaving(cm, items):
    for i in items:
        with cm as c, c.inner:
            try:
                for j in i:
                    if j: return j
                    if i: break
                    while True:
                        try: continue
                        finally: del j
                else: return i
            except KeyError as e: raise
            finally:
                if c: return c
    return [[x for y in z if (w := y) for x in w] for z in items], {a: {b} for a, b in items}

class Generic[T: (int, str), *Ts, **P](Base[T], metaclass=Meta, key=[x for x in range(3)]):
    type Alias[U] = dict[U, T]
    z: int = 1
    def method[V](self, /, a: V, *b, c=1, **d: "T") -> V:
        nonlocal_ = lambda: (super().method, __class__, a)
        assert a < len(b) <= c != d, f(1, *b, x=1, **d, y=2)
        a, (b[0], *c.d), self.x[1:2] = nonlocal_; self.y[1:2, ...] += not a
        return a if b and c or d else (a and b) or [*a, *b] or {**d, 'k': a}
    @property
    async def later(self): return (i async for i in self if await i)
"""


def nested(code: CodeType) -> Iterator[CodeType]:
    """`code` and all code objects among its constants, at any depth."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from nested(constant)


def module_code(name: str) -> CodeType:
    """The code of a module of the standard library, compiled from its source, not run."""
    spec = importlib.util.find_spec(name)
    assert spec is not None and isinstance(spec.loader, SourceFileLoader)
    code = spec.loader.source_to_code(spec.loader.get_data(spec.loader.path), spec.loader.path)
    assert isinstance(code, CodeType)
    return code


def function(source: str) -> CodeType:
    """The code of the one function defined by `source`."""
    (found,) = (c for c in compile(source, "<test>", "exec").co_consts if isinstance(c, CodeType))
    return found


def assembled(*lines: str) -> bytes:
    """Bytecode of lines such as "NOP 0"; a name that this Python does not have becomes NONE."""
    parts = (line.split() for line in lines)
    return b"".join(bytes([dis.opmap.get(name, NONE), int(arg)]) for name, arg in parts)


def exception_table(code: CodeType) -> Iterator[tuple[int, int, int, int, bool]]:
    """(start, end, target, depth, lasti) of each entry, in bytes."""
    numbers: list[int] = []
    value = 0
    for byte in code.co_exceptiontable:
        value = value << 6 | byte & 0x3F
        if not byte & 0x40:
            numbers.append(value)
            value = 0
    for start, length, target, mixed in zip(*[iter(numbers)] * 4, strict=True):
        end = (start + length) * UNIT
        yield start * UNIT, end, target * UNIT, mixed >> 1, bool(mixed & 1)


def effect(instruction: dis.Instruction, jump: bool) -> int:
    """How many values the instruction adds to the stack on this path."""
    if instruction.opname == "RETURN_GENERATOR":
        return 1  # the value first sent to the generator; `dis` of 3.12 says 0
    has_arg = instruction.opcode >= dis.HAVE_ARGUMENT
    return dis.stack_effect(instruction.opcode, instruction.arg if has_arg else None, jump=jump)


def ways(code: CodeType) -> Iterator[tuple[int, int, int]]:
    """(from, to, effect) for each path from one instruction to another."""
    instructions = list(dis.get_instructions(code))
    for now, after in zip(instructions, [*instructions[1:], None], strict=True):
        if now.opname == "EXTENDED_ARG":
            assert after is not None
            yield now.offset, after.offset, 0
            continue
        if (
            now.opcode in dis.hasjrel and now.opname != "END_ASYNC_FOR"
        ):  # 3.14 notes a location there
            yield now.offset, now.argval, effect(now, jump=True)
        if now.opname not in NEVER_FALL_THROUGH:
            assert after is not None
            yield now.offset, after.offset, effect(now, jump=False)


def expected(code: CodeType) -> dict[int, int]:
    """The depth before each instruction that can be reached; asserts that all paths agree."""
    depths = {target: depth + lasti + 1 for _, _, target, depth, lasti in exception_table(code)}
    depths[0] = 0
    leads: dict[int, list[tuple[int, int]]] = {}
    for start, to, change in ways(code):
        leads.setdefault(start, []).append((to, change))
    waiting = list(depths)
    while waiting:
        start = waiting.pop()
        for to, change in leads.get(start, ()):
            depth = depths[start] + change
            if to not in depths:
                waiting.append(to)
            assert depths.setdefault(to, depth) == depth, (code, to)
    return depths


def computed_depths(code: CodeType) -> dict[int, int]:
    """The depth that the C code computes for each unit of the code, if it knows one."""
    depths = {offset: _core._depth_at(code, offset) for offset in range(len(code.co_code))}
    return {offset: depth for offset, depth in depths.items() if depth != -1}


def check(code: CodeType) -> None:
    """Asserts what must be true of the depths of one code object."""
    depths = computed_depths(code)
    assert depths == expected(code), code
    assert min(depths.values()) >= 0, code
    assert max(depths.values()) <= code.co_stacksize, code
    for instruction in dis.get_instructions(code):
        if instruction.opname == "RETURN_VALUE" and instruction.offset in depths:
            assert depths[instruction.offset] == 1, (code, instruction.offset)
    for start, end, _, depth, _ in exception_table(code):
        inside = [depths[offset] for offset in range(start, end, UNIT) if offset in depths]
        assert not inside or min(inside) >= depth, (code, start, end)


@needs_depth
@pytest.mark.parametrize("name", MODULES.split())
def test_depths_of_the_standard_library(name: str) -> None:
    """Every instruction of every code object has the depth that the flow in Python finds."""
    for code in nested(module_code(name)):
        check(code)


@needs_depth
def test_depths_of_unusual_syntax() -> None:
    """Statements that the standard library hardly uses are understood too."""
    for code in nested(compile(UNUSUAL, "<unusual>", "exec")):
        check(code)


@needs_depth
def test_unusual_syntax_brings_the_rare_instructions() -> None:
    """The page above is useful only while it contains them."""
    names = {
        instruction.opname
        for code in nested(compile(UNUSUAL, "<unusual>", "exec"))
        for instruction in dis.get_instructions(code)
    }
    assert names >= {
        *("RETURN_GENERATOR", "SEND", "END_SEND", "CLEANUP_THROW", "END_ASYNC_FOR", "YIELD_VALUE"),
        *("WITH_EXCEPT_START", "CHECK_EG_MATCH", "END_FOR"),
        *("MATCH_CLASS", "MATCH_KEYS", "MATCH_SEQUENCE", "CALL_FUNCTION_EX", "UNPACK_EX"),
        *("LOAD_FAST_AND_CLEAR", "CALL_INTRINSIC_2", "JUMP_BACKWARD_NO_INTERRUPT", "GET_ANEXT"),
    }


# 3.14 has a slot for the keyword arguments of each star call, and keeps the manager of a `with`.
EX = WITH = int(sys.version_info >= (3, 14))


@needs_depth
@pytest.mark.parametrize(
    "source, name, depths",
    [
        # [ch]
        ("def f(ch):\n for x in ch: pass", "FOR_ITER", [1]),
        # [ch], [ch, other]
        ("def f(ch):\n for x in ch:\n  for y in x: pass", "FOR_ITER", [1, 2]),
        # [NULL, callable, args]
        ("def f(c, a): c(*a)", "CALL_FUNCTION_EX", [3 + EX]),
        # [NULL, callable, args, kwargs]
        ("def f(c, a, k): c(*a, **k)", "CALL_FUNCTION_EX", [4]),
        # [NULL, outer, 1, NULL, inner, args]
        ("def f(c, a): c(1, c(*a))", "CALL_FUNCTION_EX", [6 + EX]),
        # [exit, NULL, callable, args], and once more with two exits
        (
            "def f(c, a):\n with c:\n  c(*a)\n  with c: c(*a)",
            "CALL_FUNCTION_EX",
            [4 + EX + WITH, 5 + EX + 2 * WITH],
        ),
        # [previous exception, NULL, callable, args]
        ("def f(c, a):\n try: a()\n except c: c(*a)", "CALL_FUNCTION_EX", [4 + EX]),
        # the same while the exception is on the stack: a copy of `finally` for each way in
        ("def f(c, a):\n try: a()\n finally: c(*a)", "CALL_FUNCTION_EX", [3 + EX, 5 + EX]),
        # [ch, exit, list, iterator]: the comprehension is part of the function
        ("def f(ch, w):\n for x in ch:\n  with w: y = [z for z in x]", "FOR_ITER", [1, 5 + WITH]),
        # [the value first sent]
        ("def f(c): yield", "POP_TOP", [1, 1]),
        # [receiver, sent]
        ("def f(c): yield from c", "SEND", [2]),
    ],
)
def test_depths_counted_by_hand(source: str, name: str, depths: list[int]) -> None:
    """Depths at which a tasklet may be suspended, counted from the meaning of the statements."""
    code = function(source)
    offsets = [i.offset for i in dis.get_instructions(code) if i.opname == name]
    assert [_core._depth_at(code, offset) for offset in offsets] == depths


@needs_depth
def test_long_jumps_and_long_arguments() -> None:
    """EXTENDED_ARG, twice where a jump is that long, belongs to the instruction after it."""
    body = "".join(f"  a{i} = b.attribute{i}(1, x=c{i})\n" for i in range(5000))
    code = function(f"def f(b, it):\n for x in it:\n{body}  if x: break\n return x")
    loop = next(i for i in dis.get_instructions(code) if i.opname == "FOR_ITER")
    assert loop.arg is not None and loop.arg > 0xFFFF
    assert _core._depth_at(code, loop.offset) == 1
    assert _core._depth_at(code, loop.offset - UNIT) == 1
    assert _core._depth_at(code, loop.offset - 2 * UNIT) == 1
    check(code)


@needs_depth
def test_many_ways_back_take_one_pass() -> None:
    """Code reached only by jumps back out of handlers, thousands of times in a row."""
    one = "try: raise E\nexcept E: pass\n"
    check(compile(one * 2000, "<ways>", "exec"))


@needs_depth
def test_places_that_are_no_instruction() -> None:
    """Outside the code, inside an instruction, in an inline cache: unknown."""
    code = function("def f(a): return a.b(*a)")
    size = len(code.co_code)
    outside = [-1, -UNIT, -(2**31), size, size + UNIT, 2**31 - 1]
    assert [_core._depth_at(code, offset) for offset in outside] == [-1] * len(outside)
    instructions = {instruction.offset for instruction in dis.get_instructions(code)}
    assert set(computed_depths(code)) == instructions
    assert len(instructions) < size // UNIT


def busy(a: list[int], b: list[int]) -> list[int]:
    """Instructions that CPython specialises: a loop, a call, an attribute, an operator."""
    out = []
    for x in range(100):
        out.append(x + len(a) if a[0] < x else b[0])
    return [*out, *(y for y in out)]


def fresh_code(python: Callable[..., object]) -> CodeType:
    """A copy of the code of a function whose depths have never been computed."""
    return python.__code__.replace()


def function_of(code: CodeType) -> Callable[..., object]:
    """A function with exactly that code."""
    return FunctionType(code, globals())


@needs_depth
def test_depth_of_code_that_ran() -> None:
    """Specialised instructions and filled caches change nothing."""
    code = fresh_code(busy)
    before = expected(code)
    for _ in range(50):
        function_of(code)([1], [2])
    assert computed_depths(code) == before


@needs_depth
def test_depth_of_traced_code() -> None:
    """Computed while a trace function has replaced every instruction, and again afterwards."""
    code = fresh_code(busy)
    seen: list[dict[int, int]] = []

    def trace(frame: object, event: str, arg: object) -> object:
        if event == "line" and not seen:
            seen.append(computed_depths(code))
        return trace

    old = sys.gettrace()
    sys.settrace(trace)  # type: ignore[arg-type]
    try:
        function_of(code)([1], [2])
    finally:
        sys.settrace(old)
    assert seen == [expected(code)]
    assert computed_depths(code) == expected(code)


@needs_depth
def test_depth_of_monitored_code() -> None:
    """The same with events for each instruction, call, jump and line."""
    code = fresh_code(busy)
    monitoring: Any = vars(sys)["monitoring"]
    events = monitoring.events
    tool = next(t for t in range(5, -1, -1) if monitoring.get_tool(t) is None)
    monitoring.use_tool_id(tool, "depth")
    try:
        wanted = events.INSTRUCTION | events.LINE | events.CALL | events.BRANCH | events.JUMP
        monitoring.set_local_events(tool, code, wanted | events.PY_START | events.PY_RETURN)
        function_of(code)([1], [2])
        assert computed_depths(code) == expected(code)
        monitoring.set_local_events(tool, code, 0)
    finally:
        monitoring.free_tool_id(tool)
    assert computed_depths(code) == expected(code)


@needs_depth
@pytest.mark.parametrize(
    "change",
    [
        {"co_stacksize": 1},  # goes deeper than the code admits
        {"co_stacksize": 40_000},  # more than the table can hold
        {"co_exceptiontable": b"\x40"},  # a number that does not end
        {"co_exceptiontable": bytes([0, 1])},  # an entry that does not end
        {"co_exceptiontable": bytes([0, 1, 63, 0])},  # a handler outside
        {"co_exceptiontable": bytes([0, 1, 1, 62])},  # a handler at another depth
        {"co_code": assembled("NOP 0", "NOP 0")},  # runs out of the code
        {"co_code": assembled("NOP 0", "EXTENDED_ARG 1")},  # no instruction follows
        {"co_code": assembled("POP_TOP 0", END)},  # below the bottom
        {"co_code": assembled("JUMP_FORWARD 200", END)},
        {"co_code": assembled("JUMP_BACKWARD 200", END)},
        {"co_code": assembled("<none> 0", END)},  # no instruction at all
        {"co_code": assembled("PUSH_NULL 0", "JUMP_BACKWARD_NO_INTERRUPT 2")},  # 0, then 1
        {"co_code": assembled("JUMP_FORWARD 1", "COMPARE_OP 0", "CACHE 0", END)}
        | {"co_exceptiontable": bytes([0, 1, 2, 0])},  # a handler in an inline cache
        # into an instruction behind its EXTENDED_ARG
        {"co_code": assembled("JUMP_FORWARD 1", "EXTENDED_ARG 0", END)},
    ],
)
def test_doubtful_bytecode_is_unknown(change: dict[str, object]) -> None:
    """Code that no compiler makes (it is not run): unknown everywhere, and nothing breaks."""
    plain = function("def f(c, a):\n c(*a)")
    assert computed_depths(plain)
    code = plain.replace(**change)  # type: ignore[arg-type]
    assert computed_depths(code) == {}
    assert computed_depths(code) == {}


@needs_depth
@pytest.mark.parametrize(
    "lines, depths",
    [
        (["JUMP_FORWARD 1", END, "JUMP_BACKWARD_NO_INTERRUPT 2"], [0, 0, 0]),
        (["PUSH_NULL 0", "PUSH_NULL 0", "SEND 1", "CACHE 0", "RAISE_VARARGS 2", "RERAISE 0"],
         [0, 1, 2, -1, 2, 2]),
    ],
)  # fmt: skip
def test_instructions_reached_by_one_jump_only(lines: list[str], depths: list[int]) -> None:
    """Jumps after which compiled code always has another path to the same instruction."""
    code = function("def f(): return 1").replace(co_code=assembled(*lines), co_stacksize=9)
    assert [_core._depth_at(code, UNIT * unit) for unit in range(len(lines))] == depths


@needs_depth
def test_cached_depths_are_freed_with_the_code() -> None:
    """Memory stays where it was when code objects come and go."""
    source = textwrap.dedent("""
        def f(c, a):
            for i in c:
                with a: c(*a, i, key=i)
    """)

    def some(count: int) -> None:
        for _ in range(count):
            assert _core._depth_at(function(source), 0) == 0
        gc.collect()

    some(50)
    tracemalloc.start()
    try:
        some(10)
        before = tracemalloc.get_traced_memory()[0]
        some(500)
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert grown < 500 * 50


@needs_depth
def test_a_new_code_at_an_old_address() -> None:
    """The table of a dead code object is not used for a new one at the same address."""
    sources = ["def f(a): a(1)", "def f(a): [1, [2, a(*a)]]", "def f(a):\n for i in a: pass"]
    for turn in range(300):
        code = function(sources[turn % 3])
        assert computed_depths(code) == expected(code)
        del code


@needs_depth
def test_threads_ask_for_the_same_code_at_once() -> None:
    """Every thread gets the same answer, whichever thread computed it."""
    workers = 8
    rounds = [compile(UNUSUAL, f"<round {i}>", "exec") for i in range(25)]
    right = [computed_depths(code) for code in nested(compile(UNUSUAL, "<right>", "exec"))]
    barrier = threading.Barrier(workers)
    wrong: list[object] = []

    def ask() -> None:
        for module in rounds:
            barrier.wait()
            found = [computed_depths(code) for code in nested(module)]
            if found != right:
                wrong.append(found)

    threads = [threading.Thread(target=ask) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@needs_depth
def test_code_that_runs_right_now() -> None:
    """The depth is known of a running function, a suspended generator and a suspended coroutine."""

    def generator() -> Iterator[dict[int, int]]:
        for _ in range(2):
            yield computed_depths(generator.__code__)

    async def coroutine() -> dict[int, int]:
        async with asyncio.Lock():
            await asyncio.sleep(0)
            return computed_depths(coroutine.__code__)

    assert list(generator()) == [expected(generator.__code__)] * 2
    assert asyncio.run(coroutine()) == expected(coroutine.__code__)


@pytest.mark.skipif(COMPUTED, reason="this Python needs the depth computed")
def test_unknown_where_it_is_not_needed() -> None:
    """Other versions never compute it; an answer there would be a guess."""
    for code in nested(compile("def f(c, a):\n for i in a: c(*a)", "<test>", "exec")):
        assert computed_depths(code) == {}
