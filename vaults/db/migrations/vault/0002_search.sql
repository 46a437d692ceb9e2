-- What a search filters and lifts by stands on the passage itself, so that a candidate costs one look-up; and the text
-- around a passage becomes full-text columns of its own. Vectors stay: what is embedded does not change.

ALTER TABLE passages ADD COLUMN hidden INTEGER NOT NULL DEFAULT 0;      -- 1: archived or superseded
ALTER TABLE passages ADD COLUMN owner TEXT;                             -- private to this principal; NULL: shared
ALTER TABLE passages ADD COLUMN expires_at TEXT;
ALTER TABLE passages ADD COLUMN workspace TEXT NOT NULL DEFAULT 'global';
ALTER TABLE passages ADD COLUMN type TEXT NOT NULL DEFAULT '';
ALTER TABLE passages ADD COLUMN tier TEXT NOT NULL DEFAULT '';
ALTER TABLE passages ADD COLUMN thread TEXT;
ALTER TABLE passages ADD COLUMN applies_to TEXT NOT NULL DEFAULT 'global';
ALTER TABLE passages ADD COLUMN collection TEXT;
ALTER TABLE passages ADD COLUMN folder TEXT;
ALTER TABLE passages ADD COLUMN parent TEXT;
ALTER TABLE passages ADD COLUMN author TEXT;                            -- in lower case, words only: to be named
ALTER TABLE passages ADD COLUMN entity TEXT;                            -- likewise
ALTER TABLE passages ADD COLUMN at TEXT NOT NULL DEFAULT '';            -- when it happened, else when it was stored
ALTER TABLE passages ADD COLUMN modified_at TEXT NOT NULL DEFAULT '';
ALTER TABLE passages ADD COLUMN traits INTEGER NOT NULL DEFAULT 0;      -- bits: 1 a question, 2 adversarial
ALTER TABLE passages ADD COLUMN tokens INTEGER NOT NULL DEFAULT 0;      -- of the body, estimated as the chunker does
ALTER TABLE passages ADD COLUMN sequence TEXT;                          -- what it is one of a row of; NULL: it stands alone
ALTER TABLE passages ADD COLUMN place INTEGER NOT NULL DEFAULT 0;       -- of its item in the sequence
ALTER TABLE passages ADD COLUMN near TEXT;                              -- passages at -2, -1, +1, +2; 0 where there is none
ALTER TABLE passages ADD COLUMN before TEXT NOT NULL DEFAULT '';        -- text of those before it
ALTER TABLE passages ADD COLUMN after TEXT NOT NULL DEFAULT '';         -- text of those after it

CREATE INDEX passages_in_sequence ON passages (sequence, place, item, ordinal) WHERE sequence IS NOT NULL;
-- Names that anybody may read: a private one must not show in how a question is understood.
CREATE INDEX passages_by_author ON passages (author) WHERE author IS NOT NULL AND owner IS NULL AND hidden = 0;
CREATE INDEX passages_by_entity ON passages (entity) WHERE entity IS NOT NULL AND owner IS NULL AND hidden = 0;

DROP TRIGGER passages_fts_insert;
DROP TRIGGER passages_fts_delete;
DROP TRIGGER passages_fts_update;
DROP TABLE passages_fts;

UPDATE passages SET
    hidden = m.archived_at IS NOT NULL OR m.superseded_by IS NOT NULL,
    owner = CASE m.visibility WHEN 'private' THEN m.stored_by END,
    expires_at = m.expires_at,
    workspace = m.workspace,
    type = m.type,
    tier = m.tier,
    thread = m.thread,
    applies_to = m.applies_to,
    parent = m.parent,
    at = COALESCE(m.occurred_at, m.created_at),
    modified_at = m.updated_at
FROM memories m WHERE passages.kind = 'memory' AND m.seq = passages.item;

-- derived from passages
CREATE VIRTUAL TABLE passages_fts USING fts5 (
    title, body, labels, before, after,
    content = 'passages', content_rowid = 'seq',
    tokenize = "porter unicode61 remove_diacritics 2"
);
INSERT INTO passages_fts (passages_fts) VALUES ('rebuild');
CREATE TRIGGER passages_fts_insert AFTER INSERT ON passages BEGIN
    INSERT INTO passages_fts (rowid, title, body, labels, before, after)
    VALUES (new.seq, new.title, new.body, new.labels, new.before, new.after);
END;
CREATE TRIGGER passages_fts_delete AFTER DELETE ON passages BEGIN
    INSERT INTO passages_fts (passages_fts, rowid, title, body, labels, before, after)
    VALUES ('delete', old.seq, old.title, old.body, old.labels, old.before, old.after);
END;
CREATE TRIGGER passages_fts_update AFTER UPDATE OF title, body, labels, before, after ON passages BEGIN
    INSERT INTO passages_fts (passages_fts, rowid, title, body, labels, before, after)
    VALUES ('delete', old.seq, old.title, old.body, old.labels, old.before, old.after);
    INSERT INTO passages_fts (rowid, title, body, labels, before, after)
    VALUES (new.seq, new.title, new.body, new.labels, new.before, new.after);
END;

-- derived from passages_fts: how many passages hold a word
CREATE VIRTUAL TABLE passages_words USING fts5vocab (passages_fts, 'row');

-- derived from passages: pairs of characters of scripts without spaces, which the word index cannot take apart
CREATE VIRTUAL TABLE passages_pairs USING fts5 (
    pairs, tokenize = "unicode61 remove_diacritics 0 categories 'L* N* Co Mn Mc'"
);

-- derived from memories: tags of every kind of item
CREATE TABLE item_tags (
    kind TEXT NOT NULL,
    item INTEGER NOT NULL,
    tag  TEXT NOT NULL,
    PRIMARY KEY (tag, kind, item)
) STRICT;
CREATE INDEX item_tags_by_item ON item_tags (kind, item);
INSERT INTO item_tags (kind, item, tag) SELECT 'memory', memory, tag FROM memory_tags;
DROP TABLE memory_tags;

-- derived from memories: fields of metadata and frontmatter, to filter by
CREATE TABLE item_fields (
    kind  TEXT NOT NULL,
    item  INTEGER NOT NULL,
    field TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (field, value, kind, item)
) STRICT;
CREATE INDEX item_fields_by_item ON item_fields (kind, item);

-- A vault that holds anything is cut anew in the background: authors, neighbours and traits are not SQL's to know.
INSERT INTO vault_info (key, value)
SELECT 'recut', 'owed' WHERE EXISTS (SELECT 1 FROM passages)
ON CONFLICT (key) DO UPDATE SET value = excluded.value;
