"""What comes back: answers cut into units that can be compared.

A unit is an answer line, with its value if it has one, or a packet. What may
differ between two sound servers is made equal here:

- cas ids become numbers in the order in which they were first shown
- the length of a value that is a number, and blanks behind it, are left out
  (rule "padding" of rules.py)
- what `me` says of slab classes and sizes in memory is left out
"""
import re
import struct

HEAD = struct.Struct(">BBHBBHIIQ")
ME_MEMORY = re.compile(rb" cls=\d+ size=\d+")
ME_LEFT = re.compile(rb" exp=-(?!1 )")  # 1.6.18 has the sign wrong
DEAD = re.compile(rb"t42949\d{5}")
ME_CAS = re.compile(rb" cas=(\d+)")
# answer lines that meta flags follow
META_WORDS = {b"HD", b"VA", b"NF", b"NS", b"EX", b"EN"}


class Ids:
    """The cas ids that one server has shown."""

    def __init__(self):
        self.known = {0: 0}
        self.last = {}  # key -> id

    def canonical(self, key, number):
        if key is not None and number:  # 0: there was no item
            self.last[key] = number
        return self.known.setdefault(number, len(self.known))


def value_unit(data):
    """A value with its length, or a number without."""
    digits = data.rstrip(b" ")
    if digits.isdigit():
        return b"#" + digits
    return b"%d:" % len(data) + data


def meta_line(line, ids):
    """The line with canonical ids. With k, the id is noted for its key."""
    words = line.split(b" ")
    key = None
    at = None
    for i, word in enumerate(words):
        if word[:1] == b"c" and word[1:].isdigit():
            at = i
        elif word[:1] == b"k":
            key = word[1:]
        elif word[:3] == b"t42":
            words[i] = DEAD.sub(b"t0", word)  # rule "dead-time-left"
    if at is not None:
        words[at] = b"c=%d" % ids.canonical(key, int(words[at][1:]))
    return b" ".join(words)


def debug_line(line, ids):
    """An ME line."""
    line = ME_MEMORY.sub(b"", line)
    line = ME_LEFT.sub(b" exp=", line)
    return ME_CAS.sub(
        lambda found: b" cas=%d" % ids.canonical(None, int(found.group(1))),
        line)


def text_units(raw, ids):
    units = []
    at = 0
    end = len(raw)
    while at < end:
        eol = raw.find(b"\r\n", at)
        if eol < 0:
            units.append(raw[at:])
            break
        line = raw[at:eol]
        at = eol + 2
        word = line[:2]
        if line[:6] == b"VALUE ":
            words = line.split(b" ")
            size = int(words[3])
            if len(words) == 5:
                words[4] = b"%d" % ids.canonical(words[1], int(words[4]))
            words[3] = value_unit(raw[at:at + size])
            line = b" ".join(words)
            at += size + 2
        elif word in META_WORDS and line[2:3] in b" ":
            line = meta_line(line, ids)
            if word == b"VA":
                size = int(line.split(b" ", 2)[1])
                line = b"VA " + b" ".join(line.split(b" ")[2:]) + b" | " + \
                    value_unit(raw[at:at + size])
                at += size + 2
        elif word == b"ME":
            line = debug_line(line, ids)
        units.append(line)
    return units


def packet_units(raw, ids):
    """Packets as tuples: opcode, status, opaque, extras, key, value, id.

    The opaque's upper half names the key that the packet is about, if any:
    its id is noted (packets.py).
    """
    units = []
    at = 0
    while len(raw) - at >= HEAD.size:
        (magic, opcode, key_size, extras_size, kind, status, body_size, opaque,
         cas) = HEAD.unpack_from(raw, at)
        at += HEAD.size
        body = raw[at:at + body_size]
        at += body_size
        value = body[extras_size + key_size:]
        if cas:
            cas = ids.canonical(opaque >> 16, cas)
        if opcode == VERSION:
            shown = b"version"
        elif opcode in NUMBERS and status == 0:
            shown = value
        else:
            shown = value_unit(value)
        units.append((magic, opcode, status, opaque, body[:extras_size],
                      body[extras_size:extras_size + key_size], shown, cas,
                      kind))
    if at < len(raw):
        units.append(raw[at:])
    return units


VERSION = 0x0b
NUMBERS = {0x05, 0x06, 0x15, 0x16}  # incr, decr: their value is binary
