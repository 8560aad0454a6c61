"""Handlers as processes of their own, over the Runtime API."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from toys import toy_launch

from local_stack.errors import StackError
from local_stack.files import Lifeline
from local_stack.functions import running_functions

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from local_stack.environments import Launch, Outcome, Pool

pytestmark = pytest.mark.usefixtures("stack_environments")


@contextlib.asynccontextmanager
async def pool_of(launch: Launch, environments: int = 1) -> AsyncIterator[Pool]:
    lifeline = Lifeline()
    try:
        async with running_functions([launch], environments, lifeline) as pools:
            yield pools["caller"]
    finally:
        lifeline.close()


async def do(pool: Pool, what: str) -> Outcome:
    return await pool.invoke(json.dumps({"do": what}).encode())


async def value(pool: Pool, what: str) -> Any:
    outcome = await do(pool, what)
    assert outcome.kind == "response", outcome
    return json.loads(outcome.body)


def test_a_process_keeps_its_memory_and_shares_it_with_none(tmp_path: Path) -> None:
    async def run() -> list[dict[str, int]]:
        async with pool_of(toy_launch(tmp_path), environments=2) as pool:
            answers = [await value(pool, "count")]
            while len({answer["pid"] for answer in answers}) < 2:
                # The other one is still getting ready.
                answers.append(await value(pool, "count"))
            return answers + [await value(pool, "count") for _ in range(6)]

    answers = asyncio.run(run())
    # Which one answers depends on who asks for work first; what each remembers does not.
    for pid in {answer["pid"] for answer in answers}:
        calls = [answer["calls"] for answer in answers if answer["pid"] == pid]
        assert calls == list(range(calls[0], calls[0] + len(calls)))
        assert calls[0] == 1


def test_the_context_is_lambdas(tmp_path: Path) -> None:
    async def run() -> dict[str, Any]:
        async with pool_of(toy_launch(tmp_path)) as pool:
            answer: dict[str, Any] = await value(pool, "context")
            return answer

    context = asyncio.run(run())
    assert context["function"] == "caller"
    assert context["arn"] == "arn:aws:lambda:us-east-1:000000000000:function:caller"
    assert 0 < context["remaining"] <= 2000


def test_an_error_keeps_the_process_and_an_exit_or_a_timeout_replaces_it(tmp_path: Path) -> None:
    async def run() -> list[Any]:
        async with pool_of(toy_launch(tmp_path, timeout=1.0)) as pool:
            pids = [(await value(pool, "count"))["pid"]]
            kinds = []
            for what in ("raise", "exit", "sleep"):
                kinds.append((await do(pool, what)).kind)
                pids.append((await value(pool, "count"))["pid"])
            return [kinds, pids]

    kinds, pids = asyncio.run(run())
    assert kinds == ["error", "exit", "timeout"]
    assert pids[0] == pids[1]
    assert len(set(pids)) == 3
    assert "Task timed out after 1.00 seconds" in (tmp_path / "caller.log").read_text()


def test_a_process_that_is_killed_while_it_waits_is_replaced(tmp_path: Path) -> None:
    async def run() -> tuple[int, int]:
        async with pool_of(toy_launch(tmp_path)) as pool:
            first = (await value(pool, "count"))["pid"]
            os.kill(first, signal.SIGKILL)
            while (outcome := await do(pool, "count")).kind == "exit":
                pass  # the event may reach the process in the moment of its death
            return first, json.loads(outcome.body)["pid"]

    first, second = asyncio.run(run())
    assert first != second


def test_events_beyond_the_environments_wait_their_turn(tmp_path: Path) -> None:
    async def run() -> list[Any]:
        async with pool_of(toy_launch(tmp_path)) as pool:
            return await asyncio.gather(*(value(pool, "count") for _ in range(20)))

    answers = asyncio.run(run())
    assert sorted(answer["calls"] for answer in answers) == list(range(1, 21))


def test_a_caller_that_gives_up_does_not_disturb_the_next(tmp_path: Path) -> None:
    async def run() -> int:
        async with pool_of(toy_launch(tmp_path, timeout=1.0)) as pool:
            for _ in range(2):  # one of them is being worked on, the other waits
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(0.2):
                        await do(pool, "sleep")
            calls: int = (await value(pool, "count"))["calls"]
            return calls

    assert asyncio.run(run()) == 1


def test_a_result_over_lambdas_limit_is_an_error(tmp_path: Path) -> None:
    async def run() -> list[str]:
        async with pool_of(toy_launch(tmp_path)) as pool:
            return [(await do(pool, "large")).kind, (await do(pool, "count")).kind]

    assert asyncio.run(run()) == ["error", "response"]


def test_a_handler_that_cannot_be_imported_is_one_sentence(tmp_path: Path) -> None:
    async def run() -> None:
        async with pool_of(toy_launch(tmp_path, code="import nothing_like_this\n")):
            pass

    with pytest.raises(StackError, match=r"The function caller does not start; see .*caller\.log"):
        asyncio.run(run())
    assert "nothing_like_this" in (tmp_path / "caller.log").read_text()


def test_the_plain_python_client_serves_where_the_native_one_is_missing(tmp_path: Path) -> None:
    hiding = tmp_path / "hiding"
    hiding.mkdir()
    (hiding / "runtime_client.py").write_text("raise ImportError('hidden')\n")
    (tmp_path / "toy").mkdir()
    launch = toy_launch(tmp_path / "toy")
    launch = replace(launch, import_path=[hiding])

    async def run() -> list[Any]:
        async with pool_of(launch) as pool:
            kinds = [(await do(pool, what)).kind for what in ("raise", "large", "exit", "count")]
            return [kinds, await value(pool, "context"), await value(pool, "count")]

    kinds, context, count = asyncio.run(run())
    assert kinds == ["error", "error", "exit", "response"]
    assert context["function"] == "caller"
    assert context["remaining"] > 0
    assert count["calls"] == 3
