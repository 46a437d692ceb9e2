-- Plans: whoever is not listed is on the default one.

-- canonical
CREATE TABLE plan_holders (
    kind   TEXT NOT NULL CHECK (kind IN ('vault', 'subject')),
    name   TEXT NOT NULL,                   -- a vault, or a subject as in grants
    issuer TEXT NOT NULL DEFAULT '',        -- of a subject, as in grants; '' for a vault
    plan   TEXT NOT NULL,
    since  TEXT NOT NULL,
    PRIMARY KEY (kind, name, issuer)
) STRICT;
