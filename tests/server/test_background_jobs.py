"""Covers server.background_jobs and server.background_plan."""

from __future__ import annotations

from server.background_jobs import BACKGROUND_JOBS, jobs_of
from server.background_plan import COMMAND_WORK, SERVER_WORK
from vaults.domain.documents import page_intake
from vaults.domain.graph.links import entity_vector_job


def test_a_server_does_it_all_and_a_command_nothing_that_needs_the_model_or_the_network() -> None:
    assert jobs_of(SERVER_WORK) == BACKGROUND_JOBS
    left = set(BACKGROUND_JOBS) - set(jobs_of(COMMAND_WORK))
    assert {entity_vector_job.BACKFILL_ENTITY_VECTORS, page_intake.REREAD} < left
