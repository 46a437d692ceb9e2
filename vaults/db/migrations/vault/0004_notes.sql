-- Markdown notes: what is read off the files, and the changes that tools made to them.

-- derived from Markdown files: one row for each note that is indexed
CREATE TABLE notes (
    seq         INTEGER PRIMARY KEY AUTOINCREMENT,
    path        TEXT NOT NULL UNIQUE,               -- from the notes folder, with /
    path_key    TEXT NOT NULL,                      -- equal for paths that are one file on some systems
    folder      TEXT NOT NULL,                      -- '' for the notes folder itself
    title       TEXT NOT NULL,
    aliases     TEXT NOT NULL,                      -- JSON array
    tags        TEXT NOT NULL,                      -- JSON array, as written, without #
    frontmatter TEXT NOT NULL,                      -- JSON object
    problem     TEXT,                               -- why the frontmatter could not be read
    hash        TEXT NOT NULL,                      -- SHA-256 of the file, 32 hex; its first 16 are the etag
    size        INTEGER NOT NULL,                   -- bytes
    mtime_ns    INTEGER NOT NULL,
    inode       INTEGER NOT NULL,
    device      INTEGER NOT NULL,
    read_ns     INTEGER NOT NULL,                   -- when the file was read: one changed just before may change unseen
    complete    INTEGER NOT NULL,                   -- 0: links and tasks of a long note are still to be read
    created_at  TEXT NOT NULL,
    modified_at TEXT NOT NULL
) STRICT;
CREATE INDEX notes_by_key ON notes (path_key);
CREATE INDEX notes_by_folder ON notes (folder);
CREATE INDEX notes_by_time ON notes (modified_at);
CREATE INDEX notes_by_hash ON notes (hash);
CREATE INDEX notes_incomplete ON notes (seq) WHERE complete = 0;

-- derived from Markdown files: those that are not indexed
CREATE TABLE notes_skipped (
    path   TEXT PRIMARY KEY,
    reason TEXT NOT NULL
) STRICT;

-- derived from notes: what a link may call them: file name, title, aliases
CREATE TABLE note_names (
    key  TEXT NOT NULL,
    note INTEGER NOT NULL REFERENCES notes (seq) ON DELETE CASCADE,
    PRIMARY KEY (key, note)
) STRICT;
CREATE INDEX note_names_by_note ON note_names (note);

-- derived from Markdown files: links as written; what they point at is worked out when it is asked
CREATE TABLE note_links (
    note       INTEGER NOT NULL REFERENCES notes (seq) ON DELETE CASCADE,
    ordinal    INTEGER NOT NULL,
    kind       TEXT NOT NULL,                       -- wiki, markdown, frontmatter
    line       INTEGER NOT NULL,
    target     TEXT NOT NULL,
    target_key TEXT NOT NULL,                       -- '' for a link inside the note
    heading    TEXT NOT NULL,
    block      TEXT NOT NULL,
    alias      TEXT NOT NULL,
    embed      INTEGER NOT NULL,
    PRIMARY KEY (note, ordinal)
) STRICT;
CREATE INDEX note_links_by_target ON note_links (target_key);

-- derived from Markdown files
CREATE TABLE note_tasks (
    note    INTEGER NOT NULL REFERENCES notes (seq) ON DELETE CASCADE,
    ordinal INTEGER NOT NULL,
    line    INTEGER NOT NULL,
    status  TEXT NOT NULL,                          -- the character between the brackets
    text    TEXT NOT NULL,
    heading TEXT NOT NULL,
    due     TEXT,
    tags    TEXT NOT NULL,                          -- JSON array
    PRIMARY KEY (note, ordinal)
) STRICT;

-- What an edit compares a note's passages by, without reading them: of a long note they are thousands.
CREATE INDEX passages_of_notes ON passages (item, ordinal, source_hash, text_hash) WHERE kind = 'note';

-- canonical: what tools did to files, written down before the first file is touched
CREATE TABLE note_changes (
    seq     INTEGER PRIMARY KEY AUTOINCREMENT,
    id      TEXT NOT NULL UNIQUE,
    at      TEXT NOT NULL,
    who     TEXT NOT NULL,                          -- the principal
    author  TEXT NOT NULL,                          -- its name, for people
    tool    TEXT NOT NULL,
    session TEXT,
    summary TEXT NOT NULL,
    state   TEXT NOT NULL CHECK (state IN ('pending', 'done', 'failed')),
    undoes  TEXT,                                   -- the change this one takes back
    git     TEXT                                    -- the commit that holds it; '' while one is owed
) STRICT;
CREATE INDEX note_changes_unfinished ON note_changes (seq) WHERE state = 'pending';
CREATE INDEX note_changes_by_undone ON note_changes (undoes) WHERE undoes IS NOT NULL;
CREATE INDEX note_changes_by_commit ON note_changes (git) WHERE git IS NOT NULL;
CREATE INDEX note_changes_uncommitted ON note_changes (seq) WHERE git = '';

-- canonical: the files of a change. before NULL: it was made; after NULL: it was removed; to_path: it was moved there
CREATE TABLE note_change_files (
    change      INTEGER NOT NULL REFERENCES note_changes (seq) ON DELETE CASCADE,
    ordinal     INTEGER NOT NULL,
    path        TEXT NOT NULL,
    to_path     TEXT,
    before      TEXT,
    after       TEXT,
    overwritten TEXT,                               -- when a program outside replaced what the change had written
    PRIMARY KEY (change, ordinal)
) STRICT;
CREATE INDEX note_change_files_by_path ON note_change_files (path, change);
CREATE INDEX note_change_files_by_target ON note_change_files (to_path, change) WHERE to_path IS NOT NULL;
CREATE INDEX note_change_files_by_before ON note_change_files (before) WHERE before IS NOT NULL;
CREATE INDEX note_change_files_by_after ON note_change_files (after) WHERE after IS NOT NULL;

-- canonical: versions of notes, compressed, kept as long as a change names them
CREATE TABLE note_versions (
    hash  TEXT PRIMARY KEY,
    size  INTEGER NOT NULL,
    data  BLOB NOT NULL,
    base  TEXT,                                     -- the version it is kept as a difference from; NULL: it is whole
    depth INTEGER NOT NULL                          -- steps to a whole one
) STRICT;
CREATE INDEX note_versions_by_base ON note_versions (base) WHERE base IS NOT NULL;
