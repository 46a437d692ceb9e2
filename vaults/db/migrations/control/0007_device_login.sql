-- Commands that wait while somebody lets them in with a browser, on this machine or another (RFC 8628).

-- canonical
CREATE TABLE device_codes (
    digest     TEXT PRIMARY KEY,
    user_code  TEXT NOT NULL UNIQUE,        -- what the person types; it opens nothing by itself
    asked_by   TEXT NOT NULL,               -- where the command says it runs
    address    TEXT NOT NULL,               -- from where it asked
    resource   TEXT,
    state      TEXT NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'allowed', 'denied', 'used')),
    person     TEXT REFERENCES people (name) ON DELETE CASCADE,
    vault      TEXT,
    role       TEXT CHECK (role IN ('reader', 'writer', 'admin')),
    days       INTEGER,
    expires_at TEXT NOT NULL
) STRICT;
