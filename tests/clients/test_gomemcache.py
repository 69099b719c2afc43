"""gomemcache, the Go client that reads with `gets` only (U22)."""
from known import TEXT, client


@client("gomemcache", TEXT)
def test_round(hold_round, gomemcache):
    hold_round(gomemcache)
