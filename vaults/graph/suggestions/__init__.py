"""Why a link may be suggested, in layers: each a pure function from what is known of a candidate to points."""
