"""Is this installation well? Each check is one function, registered in its module's list; it changes nothing."""
