-- The role that servers of a strongroom cluster use: it connects, and `strongroom cluster init --role strongroom_server`
-- lets it read and write rows. It owns nothing and changes no table. As PostgreSQL's administrator:
--   psql --set=server_password=… --file=roles.sql strongroom
-- Without the variable the password is read from a file, as a container has it.
\set ON_ERROR_STOP on
\if :{?server_password}
\else
\set server_password `cat /run/secrets/database_server_password`
\endif
CREATE ROLE strongroom_server LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD :'server_password';
REVOKE ALL ON DATABASE :"DBNAME" FROM PUBLIC;
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
GRANT CONNECT ON DATABASE :"DBNAME" TO strongroom_server;
