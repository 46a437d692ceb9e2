"""Tools of other memory servers, under their own names, as translations into ours."""
