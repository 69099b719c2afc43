"""Many clients at once, each a function in a thread of its own."""
from concurrent.futures import ThreadPoolExecutor


def crowd(server, size, act):
    """Runs act(talk, number) on `size` connections; returns the results.

    All connections are open before the first one acts.
    """
    talks = [server.connect() for _ in range(size)]
    try:
        with ThreadPoolExecutor(size) as pool:
            return list(pool.map(act, talks, range(size)))
    finally:
        for talk in talks:
            talk.close()


def send_in_background(talk, pieces):
    """Sends the pieces in a thread, so that the caller can read meanwhile.

    Returns a function that waits for it and passes its failure on.
    """
    pool = ThreadPoolExecutor(1)

    def send():
        for piece in pieces:
            talk.sock.sendall(piece)

    sending = pool.submit(send)

    def finish():
        sending.result()
        pool.shutdown()
    return finish
