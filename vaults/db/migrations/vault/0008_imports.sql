-- What was brought in from other systems, by which run, so that a second run adds nothing and a run can be taken back.

-- canonical
CREATE TABLE import_runs (
    seq        INTEGER PRIMARY KEY AUTOINCREMENT,
    id         TEXT NOT NULL UNIQUE,
    source     TEXT NOT NULL,                    -- name of the system
    path       TEXT NOT NULL,                    -- where it was read from, for people
    owner      TEXT NOT NULL,                    -- the principal
    who        TEXT NOT NULL,                    -- its name, for people
    started_at TEXT NOT NULL,
    ended_at   TEXT,                             -- NULL: still running, or killed
    undone_at  TEXT,
    counts     TEXT NOT NULL DEFAULT '{}'        -- JSON object: kind -> outcome -> number
) STRICT;

-- canonical
CREATE TABLE import_records (
    kind        TEXT NOT NULL,
    external_id TEXT NOT NULL,
    owner       TEXT NOT NULL,                   -- the principal: others' ids are no business of an import
    run         INTEGER NOT NULL REFERENCES import_runs (seq),  -- that created it
    item        TEXT NOT NULL,                   -- key of what it became, as a JSON array
    hash        TEXT NOT NULL,                   -- of the line it was last brought by
    state       TEXT NOT NULL,                   -- of what it became, as it was left: another one was changed here
    PRIMARY KEY (kind, external_id, owner)
) STRICT;
CREATE INDEX import_records_by_run ON import_records (run);
CREATE INDEX import_records_by_item ON import_records (kind, item);

-- canonical
CREATE TABLE import_changes (
    run         INTEGER NOT NULL REFERENCES import_runs (seq),
    kind        TEXT NOT NULL,
    external_id TEXT NOT NULL,
    owner       TEXT NOT NULL,
    hash        TEXT NOT NULL,                   -- of the line before
    before      TEXT NOT NULL,                   -- JSON of what the run replaced
    PRIMARY KEY (kind, external_id, owner, run),
    FOREIGN KEY (kind, external_id, owner) REFERENCES import_records ON DELETE CASCADE
) STRICT;
CREATE INDEX import_changes_by_run ON import_changes (run);

-- What is imported may be older than what is here: the newest is found by its time.
DROP INDEX checkpoints_of;
CREATE INDEX checkpoints_of ON checkpoints (workspace, thread, created_at);
CREATE INDEX checkpoints_by_time ON checkpoints (created_at);
DROP INDEX handoffs_open;
CREATE INDEX handoffs_open ON handoffs (created_at) WHERE accepted_by IS NULL;
CREATE INDEX handoffs_by_time ON handoffs (created_at);

-- Whoever purges thousands of memories asks for each whether one took its place.
CREATE INDEX memories_superseding ON memories (supersedes) WHERE supersedes IS NOT NULL;
