"""A campaign of random fits: what the library claims about each of them is recomputed independently."""
