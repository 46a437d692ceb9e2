-- What outlives the servers of a cluster. PostgreSQL 14 or newer, no extension. `schema.py` runs it in one transaction,
-- or a database administrator does; a server needs SELECT, INSERT, UPDATE and DELETE, and USAGE of both schemas: the other is of control/schema.sql.
CREATE SCHEMA strongroom;

-- Whose database this is, in which layout; vault_schema: the last migration that vaults may have gone through. Servers
-- that do not know it cannot join.
CREATE TABLE strongroom.installation (
    only_row boolean NOT NULL DEFAULT true CHECK (only_row),
    id text NOT NULL,
    layout integer NOT NULL,
    vault_schema integer NOT NULL DEFAULT 0,
    PRIMARY KEY (only_row)
);

-- Servers that are not known to be gone. An id is never used again; a row that is missing is a server that is gone.
CREATE TABLE strongroom.servers (
    id text NOT NULL,
    address text NOT NULL,
    version text NOT NULL,
    beat bigint NOT NULL,
    lease_s double precision NOT NULL,
    expires timestamptz NOT NULL,
    name text NOT NULL DEFAULT '', -- as its operator calls it; the id is made of it
    state text NOT NULL DEFAULT 'serving' CHECK (state IN ('serving', 'draining', 'command')),
    certificate text NOT NULL DEFAULT '', -- PEM, by which other servers know it
    weight double precision NOT NULL DEFAULT 1, -- how many vaults it is to have, beside those of other weights
    PRIMARY KEY (id)
);

-- Who holds which vault. The epoch goes up whenever a vault is taken, the head with each entry. wanted: the server it is
-- to be handed over to next; purged: the entry up to which it may hold what was erased for good; pin: the name of the
-- server it belongs to while that one serves, whatever its hash says.
CREATE TABLE strongroom.placement (
    vault text NOT NULL,
    server text,
    epoch bigint NOT NULL,
    head bigint NOT NULL,
    wanted text,
    purged bigint NOT NULL DEFAULT 0,
    pin text,
    standby text, -- the server that keeps a copy to go on from, for the day its holder dies
    PRIMARY KEY (vault)
) WITH (fillfactor = 50); -- a head goes up in place: no index names it
CREATE INDEX placement_by_server ON strongroom.placement (server);
CREATE INDEX placement_wanted ON strongroom.placement (server) WHERE wanted IS NOT NULL;
CREATE INDEX placement_pinned ON strongroom.placement (vault) WHERE pin IS NOT NULL;

CREATE TABLE strongroom.vault_log (
    vault text NOT NULL,
    seq bigint NOT NULL,
    epoch bigint NOT NULL,
    payload bytea NOT NULL,
    PRIMARY KEY (vault, seq)
);
ALTER TABLE strongroom.vault_log ALTER COLUMN payload SET STORAGE EXTERNAL; -- it comes compressed

-- A base is there once its parts are counted.
CREATE TABLE strongroom.vault_base (
    id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    vault text NOT NULL,
    seq bigint NOT NULL,
    parts integer,
    made timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (id)
);
CREATE INDEX vault_base_by_vault ON strongroom.vault_base (vault, seq);

CREATE TABLE strongroom.vault_base_part (
    base bigint NOT NULL REFERENCES strongroom.vault_base (id) ON DELETE CASCADE,
    part integer NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (base, part)
);
ALTER TABLE strongroom.vault_base_part ALTER COLUMN data SET STORAGE EXTERNAL;

-- What each server counted towards limits of all, by a digest of whom it counts. Nothing that a crash may not take.
CREATE UNLOGGED TABLE strongroom.rate_counts (
    server text NOT NULL,
    key bytea NOT NULL,
    hits bigint NOT NULL,
    until timestamptz NOT NULL,
    changed timestamptz NOT NULL,
    PRIMARY KEY (server, key)
);

-- The audit: chains of entries, each hashed with the one before it. Statements on the rows of one chain name the views
-- below, which show those of the chain that the transaction named.
CREATE TABLE strongroom.audit_chains (
    id integer NOT NULL GENERATED ALWAYS AS IDENTITY,
    name text NOT NULL,
    indexed bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (id),
    UNIQUE (name)
);

CREATE TABLE strongroom.audit_entries (
    chain integer NOT NULL DEFAULT current_setting('strongroom.chain')::integer,
    seq bigint NOT NULL,
    at bigint NOT NULL,
    body text NOT NULL,
    hash bytea NOT NULL,
    PRIMARY KEY (chain, seq)
);

CREATE TABLE strongroom.audit_checkpoints (
    chain integer NOT NULL DEFAULT current_setting('strongroom.chain')::integer,
    seq bigint NOT NULL,
    statement text NOT NULL,
    kid text NOT NULL,
    signature bytea NOT NULL,
    PRIMARY KEY (chain, seq)
);

CREATE TABLE strongroom.audit_anchors (
    chain integer NOT NULL DEFAULT current_setting('strongroom.chain')::integer,
    seq bigint NOT NULL,
    statement text NOT NULL,
    kid text NOT NULL,
    signature bytea NOT NULL,
    PRIMARY KEY (chain, seq)
);

CREATE TABLE strongroom.audit_vouchers (
    chain integer NOT NULL DEFAULT current_setting('strongroom.chain')::integer,
    seq bigint NOT NULL,
    statement text NOT NULL,
    kid text NOT NULL,
    signature bytea NOT NULL,
    PRIMARY KEY (chain, seq)
);

CREATE TABLE strongroom.audit_forwarded (
    chain integer NOT NULL DEFAULT current_setting('strongroom.chain')::integer,
    receiver text NOT NULL,
    seq bigint NOT NULL,
    PRIMARY KEY (chain, receiver)
);

CREATE TABLE strongroom.audit_names (
    chain integer NOT NULL DEFAULT current_setting('strongroom.chain')::integer,
    number bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    name text NOT NULL,
    PRIMARY KEY (chain, name)
);

CREATE TABLE strongroom.audit_subjects (
    chain integer NOT NULL DEFAULT current_setting('strongroom.chain')::integer,
    subject bigint NOT NULL,
    at bigint NOT NULL,
    seq bigint NOT NULL,
    PRIMARY KEY (chain, subject, at, seq)
);

CREATE TABLE strongroom.audit_tools (
    chain integer NOT NULL DEFAULT current_setting('strongroom.chain')::integer,
    tool bigint NOT NULL,
    at bigint NOT NULL,
    seq bigint NOT NULL,
    PRIMARY KEY (chain, tool, at, seq)
);

CREATE TABLE strongroom.audit_times (
    chain integer NOT NULL DEFAULT current_setting('strongroom.chain')::integer,
    at bigint NOT NULL,
    seq bigint NOT NULL,
    PRIMARY KEY (chain, at, seq)
);

CREATE TABLE strongroom.audit_targets (
    chain integer NOT NULL DEFAULT current_setting('strongroom.chain')::integer,
    target bigint NOT NULL,
    seq bigint NOT NULL,
    PRIMARY KEY (chain, target, seq)
);

CREATE VIEW strongroom.indexed AS
    SELECT indexed AS seq FROM strongroom.audit_chains WHERE id = current_setting('strongroom.chain')::integer;
CREATE VIEW strongroom.entries AS
    SELECT seq, at, body, hash FROM strongroom.audit_entries
    WHERE chain = current_setting('strongroom.chain')::integer;
CREATE VIEW strongroom.checkpoints AS
    SELECT seq, statement, kid, signature FROM strongroom.audit_checkpoints
    WHERE chain = current_setting('strongroom.chain')::integer;
CREATE VIEW strongroom.anchors AS
    SELECT seq, statement, kid, signature FROM strongroom.audit_anchors
    WHERE chain = current_setting('strongroom.chain')::integer;
CREATE VIEW strongroom.vouchers AS
    SELECT seq, statement, kid, signature FROM strongroom.audit_vouchers
    WHERE chain = current_setting('strongroom.chain')::integer;
CREATE VIEW strongroom.forwarded AS
    SELECT receiver, seq FROM strongroom.audit_forwarded
    WHERE chain = current_setting('strongroom.chain')::integer;
CREATE VIEW strongroom.names AS
    SELECT number, name FROM strongroom.audit_names WHERE chain = current_setting('strongroom.chain')::integer;
CREATE VIEW strongroom.entry_subjects AS
    SELECT subject, at, seq FROM strongroom.audit_subjects
    WHERE chain = current_setting('strongroom.chain')::integer;
CREATE VIEW strongroom.entry_tools AS
    SELECT tool, at, seq FROM strongroom.audit_tools WHERE chain = current_setting('strongroom.chain')::integer;
CREATE VIEW strongroom.entry_times AS
    SELECT at, seq FROM strongroom.audit_times WHERE chain = current_setting('strongroom.chain')::integer;
CREATE VIEW strongroom.entry_targets AS
    SELECT target, seq FROM strongroom.audit_targets WHERE chain = current_setting('strongroom.chain')::integer;
