-- The graph: what each link means, what came and went, what was used together, and what people said of suggestions.

ALTER TABLE note_links ADD COLUMN meant INTEGER REFERENCES notes (seq) ON DELETE SET NULL;  -- NULL: no note, or several
CREATE INDEX note_links_by_meant ON note_links (meant, note) WHERE meant IS NOT NULL;
ALTER TABLE notes ADD COLUMN linked INTEGER NOT NULL DEFAULT 1;  -- number of the graph's change that last touched it
CREATE INDEX notes_by_linked ON notes (linked);

-- derived from notes: one row, the newest change of the graph: of a note's links, names or existence
CREATE TABLE graph_clock (
    last INTEGER NOT NULL
) STRICT;
INSERT INTO graph_clock VALUES (1);

-- derived from note_links: how central a note is
CREATE TABLE note_scores (
    note INTEGER PRIMARY KEY REFERENCES notes (seq) ON DELETE CASCADE,
    hub  REAL NOT NULL                              -- eigenvector centrality, 0 to 100
) STRICT;

-- derived from notes: what each is about, as a vector of its names and beginning
CREATE TABLE entity_vectors (
    note      INTEGER PRIMARY KEY REFERENCES notes (seq) ON DELETE CASCADE,
    model     TEXT NOT NULL,
    source    TEXT NOT NULL,                        -- hash of the note it was made from
    linked    INTEGER NOT NULL,                     -- the note's change of the graph it was made as of
    text_hash TEXT NOT NULL,                        -- of the text that was embedded
    vector    BLOB NOT NULL,                        -- float32, little endian, unit length; empty: the model gives none
    change    INTEGER NOT NULL                      -- counts up, for pictures in memory to catch up by
) STRICT;
CREATE INDEX entity_vectors_by_change ON entity_vectors (change);

-- canonical: how often a note was changed since it was first seen: no file tells
CREATE TABLE note_edits (
    path  TEXT PRIMARY KEY,
    edits INTEGER NOT NULL,
    at    TEXT NOT NULL
) STRICT;

-- canonical: links that came and went while somebody looked
CREATE TABLE link_history (
    seq    INTEGER PRIMARY KEY AUTOINCREMENT,
    at     TEXT NOT NULL,
    path   TEXT NOT NULL,                           -- the note they stand in
    target TEXT NOT NULL,                           -- the key of the name they give
    added  INTEGER NOT NULL,                        -- 1: it came, 0: it went
    edit   INTEGER NOT NULL                         -- the number of the note's edit
) STRICT;
CREATE INDEX link_history_by_path ON link_history (path, target);
CREATE INDEX link_history_by_target ON link_history (target);
CREATE INDEX link_history_by_time ON link_history (at);

-- canonical: notes that were opened (read) or found (found) together, by path, a before b; halved in seven days
CREATE TABLE note_pairs (
    a      TEXT NOT NULL,
    b      TEXT NOT NULL,
    how    TEXT NOT NULL CHECK (how IN ('read', 'found')),
    weight REAL NOT NULL,                           -- as of ``at``
    at     TEXT NOT NULL,
    PRIMARY KEY (a, b, how)
) STRICT;
CREATE INDEX note_pairs_by_second ON note_pairs (b);
CREATE INDEX note_pairs_by_time ON note_pairs (at);

-- canonical: what the graph was at the end of a day
CREATE TABLE graph_days (
    day    TEXT PRIMARY KEY,                        -- YYYY-MM-DD
    counts TEXT NOT NULL                            -- JSON object of numbers
) STRICT;

-- canonical: a memory that speaks of a note (its path, which follows it when it is moved) or of an entity (its name)
CREATE TABLE memory_subjects (
    from_memory INTEGER NOT NULL REFERENCES memories (seq) ON DELETE CASCADE,
    relation    TEXT NOT NULL,
    kind        TEXT NOT NULL CHECK (kind IN ('note', 'entity')),
    subject     TEXT NOT NULL,
    created_by  TEXT NOT NULL,
    created_at  TEXT NOT NULL,
    PRIMARY KEY (from_memory, relation, kind, subject)
) STRICT;
CREATE INDEX memory_subjects_by_subject ON memory_subjects (kind, subject);

-- Who asks what memories say of an entity reads none but those that name one.
CREATE INDEX memories_by_entity ON memories (lower(entity)) WHERE entity IS NOT NULL;

-- canonical: links that tools set by themselves or as somebody agreed to, and what became of each
CREATE TABLE link_applications (
    seq    INTEGER PRIMARY KEY AUTOINCREMENT,
    at     TEXT NOT NULL,
    who    TEXT NOT NULL,                           -- the principal
    path   TEXT NOT NULL,
    entity TEXT NOT NULL,                           -- key of the entity's name
    meant  TEXT,                                    -- the path of its note; it follows the note
    term   TEXT NOT NULL,                           -- the words it was linked on
    source TEXT NOT NULL CHECK (source IN ('auto', 'accepted', 'proactive')),
    change TEXT,                                    -- the note_changes id
    edit   INTEGER NOT NULL,                        -- how often the note had been changed then
    -- missing: not there any more, since ``gone``, but it may come back; lasting: to be counted as kept
    state  TEXT NOT NULL CHECK (state IN ('standing', 'missing', 'lasting', 'kept', 'removed', 'undone')),
    gone   TEXT
) STRICT;
CREATE INDEX link_applications_standing ON link_applications (path, entity) WHERE state IN ('standing', 'missing');
CREATE INDEX link_applications_due ON link_applications (seq) WHERE state IN ('missing', 'lasting');
CREATE INDEX link_applications_proactive ON link_applications (at) WHERE source = 'proactive';
CREATE INDEX link_applications_by_path ON link_applications (path);
CREATE INDEX link_applications_by_entity ON link_applications (entity);
CREATE INDEX link_applications_by_meant ON link_applications (meant);

-- canonical: what was thought of a suggestion or link
CREATE TABLE link_feedback (
    seq     INTEGER PRIMARY KEY AUTOINCREMENT,
    at      TEXT NOT NULL,
    who     TEXT NOT NULL,
    entity  TEXT NOT NULL,
    folder  TEXT NOT NULL,                          -- of the note it was about
    path    TEXT NOT NULL,
    term    TEXT,
    -- suppressed: by a person; pardoned: what was thought of it there before does not count any more
    verdict TEXT NOT NULL CHECK (verdict IN ('accepted', 'rejected', 'removed', 'kept', 'suppressed', 'pardoned')),
    weight  REAL NOT NULL                           -- of one observation
) STRICT;
CREATE INDEX link_feedback_by_entity ON link_feedback (entity, folder);
CREATE INDEX link_feedback_by_path ON link_feedback (path);
CREATE INDEX link_feedback_by_time ON link_feedback (at);

-- derived from link_feedback: how far links to an entity are agreed with in a folder ('': in the whole vault)
CREATE TABLE link_trust (
    entity TEXT NOT NULL,
    folder TEXT NOT NULL,
    mean   REAL NOT NULL,                           -- of the posterior, 0 to 1
    weight REAL NOT NULL,                           -- of the observations
    PRIMARY KEY (entity, folder)
) STRICT;
CREATE INDEX link_trust_by_folder ON link_trust (folder);

-- canonical: entities that are not suggested in a folder and below ('': anywhere) any more
CREATE TABLE link_suppressions (
    entity TEXT NOT NULL,
    folder TEXT NOT NULL,
    at     TEXT NOT NULL,
    who    TEXT,                                    -- NULL: learned
    PRIMARY KEY (entity, folder)
) STRICT;
CREATE INDEX link_suppressions_by_folder ON link_suppressions (folder);

-- canonical: notes that wait to be linked by themselves, once idle
CREATE TABLE proactive_queue (
    path TEXT PRIMARY KEY,
    at   TEXT NOT NULL
) STRICT;

-- canonical: what somebody does not want proposed again: a merge of two entities, or a name without a note
CREATE TABLE dismissals (
    kind TEXT NOT NULL CHECK (kind IN ('merge', 'prospect')),
    a    TEXT NOT NULL,                             -- keys of names; of a merge in order
    b    TEXT NOT NULL,                             -- '' for a prospect
    at   TEXT NOT NULL,
    who  TEXT NOT NULL,
    PRIMARY KEY (kind, a, b)
) STRICT;

-- canonical
CREATE TABLE corrections (
    seq         INTEGER PRIMARY KEY AUTOINCREMENT,
    id          TEXT NOT NULL UNIQUE,
    at          TEXT NOT NULL,
    who         TEXT NOT NULL,                      -- the principal
    author      TEXT NOT NULL,                      -- its name, for people
    workspace   TEXT NOT NULL,
    kind        TEXT NOT NULL CHECK (kind IN ('fact', 'note', 'memory', 'link', 'entity', 'behaviour')),
    subject     TEXT,                               -- a note's path, a memory's id, a name
    wrong       TEXT NOT NULL,
    instead     TEXT NOT NULL,                      -- what is right
    status      TEXT NOT NULL CHECK (status IN ('open', 'resolved', 'undone')),
    resolved_at TEXT,                               -- or taken back
    resolved_by TEXT,                               -- a name, for people
    resolution  TEXT
) STRICT;
CREATE INDEX corrections_open ON corrections (workspace, seq) WHERE status = 'open';
CREATE INDEX corrections_by_subject ON corrections (kind, subject) WHERE subject IS NOT NULL;

-- What the links of an earlier build mean is worked out in the background when the vault is first opened.
INSERT INTO vault_info (key, value)
SELECT 'links', 'owed' WHERE EXISTS (SELECT 1 FROM note_links)
ON CONFLICT (key) DO UPDATE SET value = excluded.value;
