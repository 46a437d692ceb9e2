-- What was let go to keep a limit, and why.

ALTER TABLE documents ADD COLUMN used_at TEXT;       -- when somebody last opened it, or had it back; NULL: never

-- Oldest first, by last use: what goes next, without reading a row.
CREATE INDEX documents_by_use ON documents (kind, MAX(modified_at, COALESCE(used_at, '')), seq);

-- canonical: the log of what went. Bookkeeping: kept up to a number of rows, not exported.
CREATE TABLE evictions (
    seq    INTEGER PRIMARY KEY AUTOINCREMENT,
    run    TEXT NOT NULL,                            -- those of one run are taken back together
    at     TEXT NOT NULL,
    kind   TEXT NOT NULL,                            -- memory, or the kind of a document
    item   INTEGER NOT NULL,                         -- its seq
    id     TEXT NOT NULL,
    title  TEXT NOT NULL,
    owner  TEXT,                                     -- private to this principal; NULL: it was shared
    size   INTEGER NOT NULL,                         -- characters of its text
    used   TEXT NOT NULL,                            -- when it was last used
    reason TEXT NOT NULL CHECK (reason IN ('retention', 'max_size', 'plan')),
    -- begun: its passages are going, and the rest of it must go, too
    state  TEXT NOT NULL CHECK (state IN ('begun', 'gone', 'restored'))
) STRICT;
CREATE INDEX evictions_unfinished ON evictions (seq) WHERE state = 'begun';
CREATE INDEX evictions_by_time ON evictions (at);

-- canonical: what went, compressed, to be taken back; the first to go when room is needed
CREATE TABLE evicted_copies (
    eviction INTEGER PRIMARY KEY REFERENCES evictions (seq) ON DELETE CASCADE,
    size     INTEGER NOT NULL,                       -- bytes of data
    data     BLOB NOT NULL
) STRICT;
