"""What a vault does for itself: the jobs of every vault."""

from __future__ import annotations

from server.background_plan import BackgroundPlan
from vaults.domain.collections import removal
from vaults.domain.documents import page_intake
from vaults.domain.graph import graph_jobs
from vaults.domain.graph.links import entity_vector_job, proactive_links
from vaults.domain.maintenance import integrity_round, model_change, reindexing, retention
from vaults.domain.memories import lifecycle
from vaults.domain.notes.commit import git_commits
from vaults.domain.notes.sync import sync_loop
from vaults.vault import BackgroundJob

BACKGROUND_JOBS = (
    reindexing.REINDEX,
    reindexing.RECHUNK,
    sync_loop.READ_INCOMPLETE,
    graph_jobs.RESCORE,
    git_commits.COMMIT_PENDING,
    retention.SWEEP,
    graph_jobs.RESOLVE_LINKS,
    graph_jobs.WRITE_DAILY_COUNTS,
    proactive_links.LEARN_AND_LINK,
    entity_vector_job.BACKFILL_ENTITY_VECTORS,
    removal.REMOVE,
    lifecycle.ERASE,
    page_intake.REREAD,
    integrity_round.LOOK,
    model_change.CHANGE_MODEL,
)
_OF_SERVERS = (
    entity_vector_job.BACKFILL_ENTITY_VECTORS,
    page_intake.REREAD,
    integrity_round.LOOK,
    model_change.CHANGE_MODEL,
)
"""Jobs a process leaves to others that ends with its command: they need the model, the network, or a long time."""


def jobs_of(background: BackgroundPlan) -> tuple[BackgroundJob, ...]:
    """The jobs a vault runs unasked."""
    return BACKGROUND_JOBS if background.vectors else tuple(job for job in BACKGROUND_JOBS if job not in _OF_SERVERS)
