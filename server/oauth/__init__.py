"""Sign-in of people, and the authorization server that lets their programs in. Imported at the first request for it."""
