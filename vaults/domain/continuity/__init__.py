"""Work that goes on from session to session: sessions, claims, handoffs, checkpoints, threads, what was done."""
