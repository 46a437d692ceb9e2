"""FAISS, loaded on first use."""

from __future__ import annotations

from typing import Any


def faiss() -> Any:
    """The module, set to compute on the calling thread alone.

    The thread count belongs to each calling thread, whose default is the number of cores unless ``OMP_NUM_THREADS``
    says otherwise; callers who get the module here cannot forget to set it. Two threads per query cost twice the CPU
    and, on a busy box, sixteen times the latency: the barrier waits for whichever was descheduled.
    """
    import faiss as module

    module.omp_set_num_threads(1)
    return module
