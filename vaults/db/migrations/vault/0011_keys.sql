-- Keys of memories: the unique column that migration 7 had to leave behind, empty, holds them, with whose each is.

ALTER TABLE memories RENAME COLUMN external_id_of_vault TO owner_key;
