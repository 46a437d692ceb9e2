-- Vectors of a model that does not serve: while a vault changes its model, those of the new one until all are there, and
-- from then on those of the old one, for a while, so that the change can be undone at once.

-- derived from passages: at most those of one model
CREATE TABLE spare_embeddings (
    passage   INTEGER NOT NULL REFERENCES passages (seq) ON DELETE CASCADE,
    model     TEXT NOT NULL,
    text_hash TEXT NOT NULL,
    vector    BLOB NOT NULL,                        -- as in embeddings; empty: the model has none for this text
    PRIMARY KEY (passage, model)
) STRICT;
