"""The binary dialect over a Talk: packets out, packets in."""
import collections
import struct

HEAD = struct.Struct("!BBHBBHIIQ")

Answer = collections.namedtuple(
    "Answer", "opcode status key extras value opaque cas")


def packet(opcode, key=b"", value=b"", extras=b"", opaque=0, cas=0):
    """The bytes of one request."""
    body = extras + key + value
    return HEAD.pack(0x80, opcode, len(key), len(extras), 0, 0, len(body),
                     opaque, cas) + body


def read_answer(talk):
    """The next answer; anything else fails."""
    magic, opcode, key, extras, kind, status, body, opaque, cas = \
        HEAD.unpack(talk.read(HEAD.size))
    assert (magic, kind) == (0x81, 0), f"magic {magic:#x}, type {kind}"
    data = talk.read(body)
    return Answer(opcode, status, data[extras:extras + key], data[:extras],
                  data[extras + key:], opaque, cas)


def ask(talk, opcode, *args, **fields):
    """Sends one request and returns its answer, which must be its own."""
    fields.setdefault("opaque", 0xdecafbad)
    talk.send(packet(opcode, *args, **fields))
    answer = read_answer(talk)
    assert (answer.opcode, answer.opaque) == (opcode, fields["opaque"])
    return answer


def binary_stats(talk, group=b""):
    """Like Talk.stats()."""
    talk.send(packet(0x10, group))
    found = {}
    while True:
        answer = read_answer(talk)
        assert (answer.opcode, answer.status) == (0x10, 0)
        if not answer.key:
            return found
        found[answer.key.decode()] = answer.value.decode()
