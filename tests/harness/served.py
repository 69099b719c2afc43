"""Is a new connection served, or is it one too many?"""

REFUSAL = b"ERROR Too many open connections"


def is_served(talk):
    """True if it is answered; False if it is refused, that is told one line,
    or cut off because we spoke before we listened, and closed."""
    try:
        talk.send(b"version\r\n")
        line = talk.line()
    except (ConnectionError, EOFError):
        return False
    if line == REFUSAL:
        talk.expect_close()
        return False
    assert line.startswith(b"VERSION "), line
    return True
