-- Continuity: who worked when and on what, what they left for the next, and what all of it cost.

-- canonical
CREATE TABLE sessions (
    seq            INTEGER PRIMARY KEY AUTOINCREMENT,
    id             TEXT NOT NULL UNIQUE,         -- the handle
    owner          TEXT NOT NULL,                -- identity of the principal: nobody else can use the handle
    name           TEXT NOT NULL,                -- the handle its client chose, or what it is known by without one
    who            TEXT NOT NULL,                -- the subject, for people
    client         TEXT,
    transport      TEXT NOT NULL,
    workspace      TEXT NOT NULL,
    status         TEXT NOT NULL CHECK (status IN ('active', 'paused', 'completed')),
    goal           TEXT,
    summary        TEXT,
    actions        TEXT NOT NULL DEFAULT '[]',   -- JSON array
    outcomes       TEXT NOT NULL DEFAULT '[]',   -- JSON array
    where_left_off TEXT,
    metadata       TEXT NOT NULL DEFAULT '{}',   -- JSON object
    started_at     TEXT NOT NULL,
    seen_at        TEXT NOT NULL,                -- the last call or heartbeat
    saved_at       TEXT,
    ended_at       TEXT
) STRICT;
CREATE INDEX sessions_by_name ON sessions (owner, name);
CREATE INDEX sessions_active ON sessions (owner, seen_at) WHERE status = 'active';
CREATE INDEX sessions_by_time ON sessions (seen_at);

-- canonical: one row for each call, and one for each resource claimed or given back; kept for telemetry.keep
CREATE TABLE events (
    seq        INTEGER PRIMARY KEY AUTOINCREMENT,
    at         TEXT NOT NULL,
    session    INTEGER REFERENCES sessions (seq) ON DELETE SET NULL,
    owner      TEXT NOT NULL,
    tool       TEXT NOT NULL,
    type       TEXT NOT NULL,
    resource   TEXT,                             -- id, path or name; a memory's title is looked up when it is shown
    summary    TEXT NOT NULL,                    -- words of ours only: never a title, a text or a query
    outcome    TEXT NOT NULL,                    -- ok, or the code of the error
    ms         REAL NOT NULL,
    tokens_in  INTEGER NOT NULL,                 -- of the arguments, estimated
    tokens_out INTEGER NOT NULL,                 -- of the result, estimated
    saved      INTEGER NOT NULL DEFAULT 0,       -- tokens a pack left out of what it was made of
    context    TEXT                              -- what was asked for, only where telemetry.query_context is on
) STRICT;
CREATE INDEX events_of_session ON events (session, seq);
CREATE INDEX events_by_time ON events (at);

-- canonical: which lines of work a session touched
CREATE TABLE session_threads (
    session INTEGER NOT NULL REFERENCES sessions (seq) ON DELETE CASCADE,
    thread  TEXT NOT NULL,
    at      TEXT NOT NULL,
    PRIMARY KEY (thread, session)
) STRICT;
CREATE INDEX session_threads_of ON session_threads (session);

-- canonical: advisory, one holder for each resource
CREATE TABLE claims (
    resource    TEXT PRIMARY KEY,
    session     INTEGER NOT NULL REFERENCES sessions (seq) ON DELETE CASCADE,
    description TEXT,
    claimed_at  TEXT NOT NULL
) STRICT;
CREATE INDEX claims_of_session ON claims (session);

-- canonical
CREATE TABLE handoffs (
    seq              INTEGER PRIMARY KEY AUTOINCREMENT,
    id               TEXT NOT NULL UNIQUE,
    session          INTEGER REFERENCES sessions (seq) ON DELETE SET NULL,
    owner            TEXT NOT NULL,
    who              TEXT NOT NULL,
    workspace        TEXT NOT NULL,
    goal             TEXT NOT NULL,
    current_state    TEXT NOT NULL,
    next_action      TEXT NOT NULL,
    constraints      TEXT NOT NULL DEFAULT '[]', -- JSON arrays
    known_unknowns   TEXT NOT NULL DEFAULT '[]',
    artifacts        TEXT NOT NULL DEFAULT '[]',
    stop_conditions  TEXT NOT NULL DEFAULT '[]',
    claims           TEXT NOT NULL DEFAULT '[]', -- resources that go over to whoever accepts
    addressed_to     TEXT,                       -- a subject, or role:writer; NULL: anyone in the vault
    created_at       TEXT NOT NULL,
    expires_at       TEXT,
    accepted_by      TEXT,                       -- identity; set once
    accepted_who     TEXT,
    accepted_session INTEGER REFERENCES sessions (seq) ON DELETE SET NULL,
    accepted_at      TEXT
) STRICT;
CREATE INDEX handoffs_open ON handoffs (seq) WHERE accepted_by IS NULL;

-- canonical: states of work; the newest of a workspace and thread is the current one
CREATE TABLE checkpoints (
    seq        INTEGER PRIMARY KEY AUTOINCREMENT,
    id         TEXT NOT NULL UNIQUE,
    workspace  TEXT NOT NULL,
    thread     TEXT NOT NULL,                    -- '' for none
    reason     TEXT NOT NULL,
    state      TEXT NOT NULL,                    -- JSON object, 64 KB at most
    tokens     INTEGER NOT NULL,                 -- of the state, cl100k
    session    INTEGER REFERENCES sessions (seq) ON DELETE SET NULL,
    owner      TEXT NOT NULL,
    who        TEXT NOT NULL,
    created_at TEXT NOT NULL
) STRICT;
CREATE INDEX checkpoints_of ON checkpoints (workspace, thread, seq);

-- Notes say in their properties which thread they belong to. Those that say so already are read again.
CREATE INDEX passages_by_thread ON passages (thread) WHERE thread IS NOT NULL AND kind <> 'memory';
UPDATE notes SET mtime_ns = 0, complete = 0 WHERE frontmatter LIKE '%"thread"%';

-- canonical: what callers say of the tools
CREATE TABLE feedback (
    seq     INTEGER PRIMARY KEY AUTOINCREMENT,
    id      TEXT NOT NULL UNIQUE,
    at      TEXT NOT NULL,
    owner   TEXT NOT NULL,
    who     TEXT NOT NULL,
    session INTEGER REFERENCES sessions (seq) ON DELETE SET NULL,
    type    TEXT NOT NULL CHECK (type IN ('bug', 'feature_request', 'friction', 'right_tool', 'wrong_tool')),
    message TEXT,
    tool    TEXT,
    call_id TEXT
) STRICT;
CREATE INDEX feedback_of_tool ON feedback (tool, type) WHERE tool IS NOT NULL;

ALTER TABLE memories ADD COLUMN anchor_commit TEXT;   -- full commit id of the repository's state it speaks of

-- What one caller stored is counted within limits, inside the transaction that stores more: no row is read for it.
CREATE INDEX memories_by_storer ON memories (stored_by, archived_at, superseded_by, LENGTH(content));

-- What the sweep looks for: memories that ran out and are not archived yet, and those something else took the place of.
CREATE INDEX memories_expiring ON memories (expires_at)
WHERE expires_at IS NOT NULL AND archived_at IS NULL AND superseded_by IS NULL;
CREATE INDEX memories_superseded ON memories (superseded_by, updated_at) WHERE superseded_by IS NOT NULL;
