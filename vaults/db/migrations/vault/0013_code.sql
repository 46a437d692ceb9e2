-- Symbols of source code, and where they are named.

-- derived from documents of kind code: one row for each whose symbols are known
CREATE TABLE code_files (
    document INTEGER PRIMARY KEY REFERENCES documents (seq) ON DELETE CASCADE,
    hash     TEXT NOT NULL,                     -- of the document whose symbols these are
    language TEXT NOT NULL,
    module   TEXT NOT NULL,                     -- its path without its ending, as imports name it
    stem     TEXT NOT NULL,                     -- the last word of that
    lines    INTEGER NOT NULL,
    parsed   INTEGER NOT NULL,                  -- 0: no grammar read it
    symbols  INTEGER NOT NULL,                  -- how many rows the tables below hold of it
    named    INTEGER NOT NULL,
    imported INTEGER NOT NULL
) STRICT;
CREATE INDEX code_files_by_stem ON code_files (stem);

-- derived from documents of kind code
CREATE TABLE code_symbols (
    document   INTEGER NOT NULL REFERENCES documents (seq) ON DELETE CASCADE,
    number     INTEGER NOT NULL,                -- in the file, in order
    name       TEXT NOT NULL,
    folded     TEXT NOT NULL,                   -- the name in lower case
    words      TEXT NOT NULL,                   -- its parts, in lower case, a space around each
    qualified  TEXT NOT NULL,                   -- with the names it stands in, joined by dots
    label      TEXT NOT NULL,                   -- that, made unique in its file: by it the symbol is fetched
    kind       TEXT NOT NULL,
    signature  TEXT NOT NULL,
    doc        TEXT NOT NULL,
    line       INTEGER NOT NULL,
    first_line INTEGER NOT NULL,
    last_line  INTEGER NOT NULL,
    parent     INTEGER,                         -- number of the symbol it stands in
    PRIMARY KEY (document, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX code_symbols_by_name ON code_symbols (folded, words);
CREATE INDEX code_symbols_by_label ON code_symbols (document, label);

-- derived from documents of kind code: names that are called, inherited from or used
CREATE TABLE code_references (
    document INTEGER NOT NULL REFERENCES documents (seq) ON DELETE CASCADE,
    number   INTEGER NOT NULL,
    name     TEXT NOT NULL,
    "on"     TEXT NOT NULL,                     -- what stands before the dot
    kind     TEXT NOT NULL,
    within   INTEGER,                           -- number of the symbol that names it
    lines    TEXT NOT NULL,                     -- where, one after the other
    PRIMARY KEY (document, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX code_references_by_name ON code_references (name);

-- derived from documents of kind code
CREATE TABLE code_imports (
    document INTEGER NOT NULL REFERENCES documents (seq) ON DELETE CASCADE,
    number   INTEGER NOT NULL,
    module   TEXT NOT NULL,                     -- as a path, a relative one from where the file is
    stem     TEXT NOT NULL,                     -- the last word of that
    name     TEXT NOT NULL,                     -- what is taken from it; "*": all; empty: the module itself
    alias    TEXT NOT NULL,                     -- what it is called here, if by another name
    line     INTEGER NOT NULL,
    PRIMARY KEY (document, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX code_imports_by_stem ON code_imports (stem);
CREATE INDEX code_imports_by_name ON code_imports (name);
