"""Logs and metrics: one JSON object a line, from every ring, and nothing secret in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from skill_registry.web.telemetry import outline

HEAD = """
import logging
from skill_registry.catalog.facts import *
from skill_registry.web.telemetry import begin, logger, recorder
tell = recorder()
begin("call-1", "request-1")
"""
NAMESPACE = {"POWERTOOLS_METRICS_NAMESPACE": "SkillRegistry"}


def printed(program: str, **variables: str) -> list[dict[str, Any]]:
    """Run a program in a process of its own, as a function runs; return the lines of its log."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", HEAD + program],
        env={
            "PYTHONPATH": os.pathsep.join(sys.path),
            "POWERTOOLS_SERVICE_NAME": "skill-registry",
            "LOG_LEVEL": "INFO",
            **variables,
        },
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return [json.loads(line) for line in done.stdout.split("\n")[:-1]]


def metrics_of(line: dict[str, Any]) -> tuple[dict[str, str], dict[str, tuple[str, float]]]:
    """Read a line as CloudWatch does: dimensions, and each metric's unit and value."""
    (directive,) = line["_aws"]["CloudWatchMetrics"]
    assert directive["Namespace"] == "SkillRegistry"
    (names,) = directive["Dimensions"]
    values = {each["Name"]: (each["Unit"], line[each["Name"]][0]) for each in directive["Metrics"]}
    return {name: line[name] for name in names}, values


def test_the_inner_rings_log_in_the_form_of_the_edge_and_once() -> None:
    (line,) = printed(
        'logging.getLogger("skill_registry.catalog.x").warning("drift", extra={"skill": "a/b"})'
    )
    assert (line["message"], line["skill"], line["level"]) == ("drift", "a/b", "WARNING")
    assert (line["correlation_id"], line["request_id"]) == ("call-1", "request-1")


def test_a_load_is_one_line_with_its_members_that_is_its_metrics_too() -> None:
    (loaded,) = printed(
        """
tell(SkillLoaded("notes", "Takes notes.", 3, "team-red", 120, "SKILL.md", agent="review",
                 source="https://example.com/x", upstream={"repo": "r"}))
""",
        **NAMESPACE,
    )
    members = {
        "message": "skill_loaded",
        "skill": "notes",
        "description": "Takes notes.",
        "version": 3,
        "scope": "team-red",
        "agent": "review",
        "source": "https://example.com/x",
        "upstream": {"repo": "r"},
        "body_bytes": 120,
        "path": "SKILL.md",
        "correlation_id": "call-1",
    }
    assert members.items() <= loaded.items()
    assert metrics_of(loaded) == (
        {"service": "skill-registry", "scope_kind": "team"},
        {"SkillLoaded": ("Count", 1), "SkillLoadedBytes": ("Bytes", 120)},
    )


def test_every_kind_of_fact_has_its_name_and_its_metric() -> None:
    refused, listed, published = printed(
        """
tell(SkillRefused("notes", "disabled", "system", "review"))
tell(SkillListed(("user-1", "system"), 8, "review", True))
tell(SkillPublished("notes", 2, "user-1", "ann", "content", 900, "u-1"))
""",
        **NAMESPACE,
    )
    assert (refused["message"], refused["skill"]) == ("skill_refused", "notes")
    assert metrics_of(refused) == (
        {"service": "skill-registry", "reason": "disabled"},
        {"SkillRefused": ("Count", 1)},
    )
    assert (listed["message"], listed["scopes"]) == ("skill_listed", ["user-1", "system"])
    assert (listed["count"], listed["searched"]) == (8, True)
    assert metrics_of(listed) == ({"service": "skill-registry"}, {"SkillListed": ("Count", 1)})
    assert (published["message"], published["author"]) == ("skill_published", "ann")
    assert metrics_of(published) == (
        {"service": "skill-registry", "scope_kind": "user", "kind": "content"},
        {"SkillPublished": ("Count", 1)},
    )


def test_what_a_fact_does_not_know_is_left_out_and_nothing_of_the_last_one_stays() -> None:
    _, bare = printed(
        """
tell(SkillPublished("a", 1, "team-x", "ann", "content", 1, "u-1", correlation="other"))
tell(SkillRefused("b", "unknown"))
""",
        **NAMESPACE,
    )
    dimensions, metrics = metrics_of(bare)
    assert (set(dimensions), set(metrics)) == ({"service", "reason"}, {"SkillRefused"})
    absent = {"scope", "agent", "scope_kind", "kind", "SkillPublished", "correlation", "author"}
    assert not absent & set(bare)
    assert bare["correlation_id"] == "call-1"


def test_the_correlation_id_that_a_fact_brings_goes_before_that_of_the_invocation() -> None:
    (line,) = printed('tell(SkillRefused("u-1", "skill_invalid", correlation="announced"))')
    assert (line["correlation_id"], line["request_id"]) == ("announced", "request-1")


def test_an_invocation_takes_the_ids_of_the_last_one_away() -> None:
    _, second = printed('logger().info("a"); begin("call-2", "request-2"); logger().info("b")')
    assert (second["correlation_id"], second["request_id"]) == ("call-2", "request-2")


def test_facts_are_written_at_every_level_of_the_log() -> None:
    (line,) = printed(
        'logger().warning("w"); tell(SkillRefused("a", "unknown"))', LOG_LEVEL="ERROR", **NAMESPACE
    )
    assert line["message"] == "skill_refused"


def test_without_a_namespace_a_fact_is_a_line_without_metrics() -> None:
    (line,) = printed('tell(SkillListed(("system",), 1))')
    assert line["message"] == "skill_listed"
    assert not {"_aws", "SkillListed"} & set(line)


def test_threads_that_tell_at_once_write_whole_lines() -> None:
    lines = printed(
        """
from threading import Thread
def work(number):
    for each in range(40):
        tell(SkillLoaded(f"s-{number}", "d" * 900, each, f"team-{number}", number))
threads = [Thread(target=work, args=(number,)) for number in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
""",
        **NAMESPACE,
    )
    assert len(lines) == 320
    for line in lines:
        size = float(line["skill"].removeprefix("s-"))
        assert metrics_of(line)[1]["SkillLoadedBytes"] == ("Bytes", size)


def test_a_text_can_neither_forge_a_line_nor_fill_the_log() -> None:
    (line,) = printed(
        r"""
tell(SkillRefused('a\n{"message": "forged"}\u2028\x9b\ud800' + "x" * 100_000, "unknown"))
"""
    )
    assert line["message"] == "skill_refused"
    assert len(line["skill"]) == 1024


def test_an_exception_is_logged_without_what_its_message_quotes() -> None:
    outer, inner = printed(
        """
def fail(text):
    try:
        int(text)
    except ValueError as error:
        error.add_note(text)
        raise KeyError(text) from error
for log in (logger(), logging.getLogger("skill_registry.catalog.x")):
    try:
        fail("mark" + "ed")
    except KeyError:
        log.exception("crashed")
"""
    )
    for line in (outer, inner):
        assert "marked" not in json.dumps(line)
        assert line["exception_name"] == "KeyError"
        assert "in fail" in line["exception"]
        assert "because of builtins.ValueError" in line["exception"]


def test_a_chain_of_errors_that_is_endless_is_cut() -> None:
    one, two = ValueError("a"), TypeError("b")
    one.__cause__, two.__cause__ = two, one
    assert outline(one).count("because of") == 9


def test_the_sdk_never_prints_requests_whatever_the_level() -> None:
    (line,) = printed(
        """
logging.root.setLevel("DEBUG")
names = ("boto3", "botocore", "botocore.auth", "urllib3.connectionpool", "s3transfer")
told = [name for name in names if logging.getLogger(name).isEnabledFor(logging.INFO)]
logger().debug("ours", extra={"told": told})
""",
        LOG_LEVEL="DEBUG",
    )
    assert (line["message"], line["told"]) == ("ours", [])


def test_a_call_that_the_registry_fails_leaves_its_route_code_and_reason() -> None:
    failed, crashed = printed(
        """
from api_client import SETTINGS, Client
from house import House
house = House(settings=SETTINGS)
client = Client(house)
house.faults.before_if = lambda _: True
client.send("DELETE /skills/{name}", path={"name": "notes"}, headers={"X-Correlation-Id": "mine"})
house.faults.before_if = lambda _: {}["marked"]
client.send("DELETE /skills/{name}", path={"name": "notes"})
"""
    )
    assert (failed["message"], failed["code"]) == ("request_failed", "store_unavailable")
    assert (failed["route"], failed["detail"]) == (
        "DELETE /skills/{name}",
        "The store did not answer.",
    )
    assert (failed["correlation_id"], failed["request_id"]) == ("mine", "request-1")
    assert (crashed["message"], crashed["exception_name"]) == ("request_crashed", "KeyError")
