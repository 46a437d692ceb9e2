-- control.db: what exists and who may do what. All of it canonical.

-- canonical
CREATE TABLE installation (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;

-- canonical
CREATE TABLE vaults (
    name       TEXT PRIMARY KEY,
    vault_id   TEXT NOT NULL UNIQUE,
    path       TEXT,                        -- NULL: inside the data folder
    state      TEXT NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'archived')),
    preset     TEXT NOT NULL DEFAULT 'agent',
    write_mode TEXT NOT NULL DEFAULT 'auto' CHECK (write_mode IN ('auto', 'ask', 'off')),
    created_at TEXT NOT NULL
) STRICT;

-- canonical
CREATE TABLE grants (
    subject    TEXT NOT NULL,
    issuer     TEXT NOT NULL,               -- 'local', or an outside issuer's URL
    vault      TEXT NOT NULL,               -- '*': every vault
    role       TEXT NOT NULL CHECK (role IN ('reader', 'writer', 'admin')),
    created_at TEXT NOT NULL,
    PRIMARY KEY (subject, issuer, vault)
) STRICT;

-- canonical
CREATE TABLE tokens (
    id         TEXT PRIMARY KEY,
    subject    TEXT NOT NULL,
    vaults     TEXT NOT NULL,               -- JSON array of names, or ["*"]
    role       TEXT NOT NULL CHECK (role IN ('reader', 'writer', 'admin')),
    preset     TEXT,
    created_at TEXT NOT NULL,
    expires_at TEXT,
    revoked_at TEXT
) STRICT;

-- canonical
CREATE TABLE usage_days (
    scope TEXT NOT NULL,
    day   TEXT NOT NULL,
    used  INTEGER NOT NULL,
    PRIMARY KEY (scope, day)
) STRICT;
