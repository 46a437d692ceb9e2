"""Work that continues across sessions: sessions, claims, handoffs, checkpoints, threads, and the record of what was
done."""
