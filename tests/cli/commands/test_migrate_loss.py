"""
``espalier migrate`` where a rewrite would lose something: dry runs, and consent by digest.
"""

import re

from espalier.cli.output.exit_codes import Exit
from tests.cli.clusters import NAME, site
from tests.cli.commands.test_migrate import OBJECTS, QUICK, definition, stored_version, versions

DIGEST = re.compile(r"--accept-loss ([0-9a-f]{16})")


async def test_a_dry_run_writes_nothing_and_says_what_would_stop_it() -> None:
    async with site(definition(), OBJECTS) as cluster:
        changed = await cluster.change({"spec": {"versions": versions("v1", size="gone")}})
        before = len(cluster.sandbox.log)
        result = await cluster.run("migrate", NAME, "--dry-run")
        digest = DIGEST.search(result.output)
        assert digest is not None
        accepted = await cluster.run("migrate", NAME, "--dry-run", "--accept-loss", digest[1])
        written = [request for request in cluster.sandbox.log[before:] if request.method != "GET"]
        after = await cluster.stage.definition(NAME)
        assert await stored_version(cluster, "a") == "example.com/v1alpha1"

    asked = [one for one in written if "authorization.k8s.io" not in one.path]
    assert asked
    assert all("dryRun=All" in one.query for one in asked)
    assert after == changed
    assert result.exit_code == Exit.FINDINGS
    assert accepted.exit_code == Exit.CLEAN


async def test_what_would_be_lost_stops_it_until_that_is_accepted() -> None:
    async with site(definition(), OBJECTS) as cluster:
        await cluster.change({"spec": {"versions": versions("v1", size="gone")}})
        stopped = await cluster.run("migrate", NAME, *QUICK)
        kept = await stored_version(cluster, "a")
        digest = re.search(r"espalier\.dev/loss=([0-9a-f]{16})", stopped.output)
        assert digest is not None
        accepted = await cluster.run("migrate", NAME, *QUICK, "--accept-loss", digest[1])

    assert "WouldLoseData: " in stopped.stdout
    assert stopped.exit_code == Exit.INCOMPLETE
    assert kept == "example.com/v1alpha1"
    assert accepted.exit_code == Exit.CLEAN


async def test_the_digest_of_a_dry_run_holds_for_the_run() -> None:
    async with site(definition(), OBJECTS) as cluster:
        await cluster.change({"spec": {"versions": versions("v1", size="gone")}})
        shown = await cluster.run("migrate", NAME, "--dry-run")
        digest = DIGEST.search(shown.output)
        assert digest is not None
        accepted = await cluster.run("migrate", NAME, *QUICK, "--accept-loss", digest[1])
        wrong = await cluster.run("migrate", NAME, "--accept-loss", "yes")

    assert accepted.exit_code == Exit.CLEAN
    assert wrong.exit_code == Exit.USAGE
    assert "16 hexadecimal digits" in wrong.output
