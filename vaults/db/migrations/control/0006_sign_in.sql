-- People who sign in with a browser, and the programs they let in. Nothing in here gives a right: rows of grants do.
-- What opens something (links, cookies, codes, refresh tokens) is kept as its SHA-256 alone.

-- canonical
CREATE TABLE people (
    name        TEXT PRIMARY KEY,           -- the subject of their grants and tokens, of issuer 'local'
    password    TEXT,                       -- Argon2id as PHC text; NULL: none is set
    created_at  TEXT NOT NULL,
    disabled_at TEXT
) STRICT;

-- canonical
CREATE TABLE invites (
    person     TEXT PRIMARY KEY REFERENCES people (name) ON DELETE CASCADE,
    digest     TEXT NOT NULL UNIQUE,
    created_at TEXT NOT NULL,
    expires_at TEXT NOT NULL
) STRICT;

-- canonical
CREATE TABLE browser_sessions (
    id         TEXT PRIMARY KEY,
    digest     TEXT NOT NULL UNIQUE,
    person     TEXT NOT NULL REFERENCES people (name) ON DELETE CASCADE,
    browser    TEXT NOT NULL,               -- as it calls itself
    created_at TEXT NOT NULL,
    seen_at    TEXT NOT NULL,
    expires_at TEXT NOT NULL
) STRICT;
CREATE INDEX browser_sessions_of_person ON browser_sessions (person);

-- canonical
CREATE TABLE oauth_clients (
    id            TEXT PRIMARY KEY,
    name          TEXT NOT NULL,            -- as it calls itself
    redirect_uris TEXT NOT NULL,            -- JSON array
    auth_method   TEXT NOT NULL,            -- at the token endpoint
    created_at    TEXT NOT NULL,
    expires_at    TEXT NOT NULL             -- put off by each use
) STRICT;
CREATE INDEX oauth_clients_by_end ON oauth_clients (expires_at);

-- canonical
CREATE TABLE consents (
    person   TEXT NOT NULL REFERENCES people (name) ON DELETE CASCADE,
    client   TEXT NOT NULL REFERENCES oauth_clients (id) ON DELETE CASCADE,
    vault    TEXT NOT NULL,
    role     TEXT NOT NULL CHECK (role IN ('reader', 'writer', 'admin')),
    days     INTEGER NOT NULL,
    given_at TEXT NOT NULL,
    PRIMARY KEY (person, client, vault)
) STRICT;

-- canonical
CREATE TABLE client_logins (
    id         TEXT PRIMARY KEY,
    client     TEXT NOT NULL REFERENCES oauth_clients (id) ON DELETE CASCADE,
    person     TEXT NOT NULL REFERENCES people (name) ON DELETE CASCADE,
    vault      TEXT NOT NULL,
    role       TEXT NOT NULL CHECK (role IN ('reader', 'writer', 'admin')),
    resource   TEXT,                        -- RFC 8707, as it was asked for
    created_at TEXT NOT NULL,
    used_at    TEXT NOT NULL,
    expires_at TEXT NOT NULL,
    ended_at   TEXT,
    end_reason TEXT
) STRICT;
CREATE INDEX client_logins_of_person ON client_logins (person);
CREATE INDEX client_logins_of_client ON client_logins (client);

-- canonical
CREATE TABLE authorization_codes (
    digest       TEXT PRIMARY KEY,
    login        TEXT NOT NULL,             -- the id of the login it starts
    client       TEXT NOT NULL REFERENCES oauth_clients (id) ON DELETE CASCADE,
    person       TEXT NOT NULL REFERENCES people (name) ON DELETE CASCADE,
    vault        TEXT NOT NULL,
    role         TEXT NOT NULL CHECK (role IN ('reader', 'writer', 'admin')),
    days         INTEGER NOT NULL,
    redirect_uri TEXT NOT NULL,
    named        INTEGER NOT NULL,          -- whether the request named the redirect
    challenge    TEXT NOT NULL,             -- of PKCE, S256
    resource     TEXT,
    expires_at   TEXT NOT NULL,
    used_at      TEXT
) STRICT;

-- canonical
CREATE TABLE refresh_tokens (
    digest  TEXT PRIMARY KEY,
    login   TEXT NOT NULL REFERENCES client_logins (id) ON DELETE CASCADE,
    made_at TEXT NOT NULL,
    used_at TEXT
) STRICT;
CREATE INDEX refresh_tokens_of_login ON refresh_tokens (login);

ALTER TABLE tokens ADD COLUMN login TEXT;   -- of a token made by a login: ended with it
CREATE INDEX tokens_of_login ON tokens (login) WHERE login IS NOT NULL;
