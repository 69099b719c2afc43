"""What every test against the running server shares.

server.py   starts, kills and ends one server process in its own directory
talk.py     one raw connection: send bytes, expect exact bytes
udp.py      the same by datagrams
script.py   conversations written down as text, and the marks for tests
"""
