"""Source code as symbols: cut, named and related. Pure; knows no vault."""
