"""get gets gat gats, delete and touch: every answer."""
from harness.script import conversations, hold

ANSWERS = {
    "get-of-several-keys-in-order-of-request": """
        > set a 1 0 1
        > A
        > set b 2 0 2
        > BB
        < STORED
        < STORED
        > get b none a b
        < VALUE b 2 2
        < BB
        < VALUE a 1 1
        < A
        < VALUE b 2 2
        < BB
        < END
    """,
    "get-of-missing-keys": """
        > get none
        < END
        > gets none nothing
        < END
        > gat 0 none
        < END
        > gats 0 none nothing
        < END
    """,
    "noreply-is-an-ordinary-key-of-get": """
        > set noreply 0 0 1
        > a
        < STORED
        > get noreply
        < VALUE noreply 0 1
        < a
        < END
        > get k noreply
        < VALUE noreply 0 1
        < a
        < END
    """,
    "gets-gives-ids": """
        > set a 1 0 1
        > A
        < STORED
        > set b 2 0 2
        > BB
        < STORED
        > gets a b
        <~ VALUE a 1 1 [1-9][0-9]*
        < A
        <~ VALUE b 2 2 [1-9][0-9]*
        < BB
        < END
    """,
    "gat-returns-and-touches-every-hit": """
        > set a 1 0 1
        > A
        > set b 2 0 2
        > BB
        < STORED
        < STORED
        > gat 100 a none b
        < VALUE a 1 1
        < A
        < VALUE b 2 2
        < BB
        < END
        > gats 0 a
        <~ VALUE a 1 1 [1-9][0-9]*
        < A
        < END
    """,
    "gat-with-negative-time-returns-for-the-last-time": """
        > set a 1 0 1
        > A
        < STORED
        > gat -1 a
        < VALUE a 1 1
        < A
        < END
        > get a
        < END
    """,
    "gat-with-a-bad-time": """
        > gat abc a
        < CLIENT_ERROR invalid exptime argument
        > gats 1x a b
        < CLIENT_ERROR invalid exptime argument
        > gat 99999999999999999999 a
        < CLIENT_ERROR invalid exptime argument
    """,
    "missing-keys-in-the-command": """
        > get
        < CLIENT_ERROR bad command line format
        > gets
        < CLIENT_ERROR bad command line format
        > gat
        < CLIENT_ERROR bad command line format
        > gats
        < CLIENT_ERROR bad command line format
        > gat 0
        < CLIENT_ERROR bad command line format
        > gats 0
        < CLIENT_ERROR bad command line format
    """,
    "delete": """
        > set k 0 0 1
        > a
        < STORED
        > delete k
        < DELETED
        > delete k
        < NOT_FOUND
        > get k
        < END
        > add k 0 0 1
        > b
        < STORED
    """,
    "delete-of-a-key-called-noreply": """
        > set noreply 0 0 1
        > a
        < STORED
        > delete noreply
        < DELETED
        > get noreply
        < END
    """,
    "delete-without-key": """
        > delete
        < CLIENT_ERROR bad command line format
    """,
    "touch": """
        > touch k 0
        < NOT_FOUND
        > set k 3 0 1
        > a
        < STORED
        > touch k 100
        < TOUCHED
        > get k
        < VALUE k 3 1
        < a
        < END
        > touch k -1
        < TOUCHED
        > get k
        < END
    """,
    "touch-with-a-bad-time": """
        > set k 0 0 1
        > a
        < STORED
        > touch k abc
        < CLIENT_ERROR invalid exptime argument
        > touch k 99999999999999999999
        < CLIENT_ERROR invalid exptime argument
        > get k
        < VALUE k 0 1
        < a
        < END
    """,
    "touch-with-missing-words": """
        > touch
        < CLIENT_ERROR bad command line format
        > touch k
        < CLIENT_ERROR bad command line format
    """,
}

MISSING = "1.6.18 answers ERROR to missing words"


@conversations(ANSWERS, differing={
    "missing-keys-in-the-command": MISSING,
    "delete-without-key": MISSING,
    "touch-with-missing-words": MISSING,
})
def test_answer(talk, script, delivery):
    hold(talk, script, delivery)


def test_get_of_a_thousand_keys(talk):
    for i in range(0, 1000, 2):
        talk.send(b"set key%d %d 0 5 noreply\r\n%05d\r\n" % (i, i, i))
    keys = b" ".join(b"key%d" % i for i in range(1000))
    hits = b"".join(b"VALUE key%d %d 5\r\n%05d\r\n" % (i, i, i)
                    for i in range(0, 1000, 2))
    talk.ask(b"get %s\r\n" % keys, hits + b"END\r\n")


def test_value_being_sent_keeps_its_version(server, talk):
    """Another client's delete or set does not mix into a running answer."""
    old, new = b"o" * 256 * 1024, b"n" * 256 * 1024
    with server.connect() as other:
        for _ in range(5):
            talk.set(b"big", old)
            # Enough answers that they cannot all lie in socket buffers.
            talk.send(b"get big\r\n" * 40)
            talk.expect(b"VALUE big 0 %d\r\n" % len(old))
            other.set(b"big", new)
            other.ask(b"delete big\r\n", b"DELETED\r\n")
            assert talk.read(len(old)) == old
            talk.expect(b"\r\nEND\r\n")
            for _ in range(39):
                line = talk.line()
                if line == b"END":
                    continue
                value = talk.read(256 * 1024)
                assert value in (old, new)
                talk.expect(b"\r\nEND\r\n")
