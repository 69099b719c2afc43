"""Sound text commands with something wrong in them.

They go out on a connection of their own, and error lines are compared as such,
not by their texts (rules.py). The stores are emptied behind each.
"""
import base64
import binascii
import re

from differential.steps import Step

WORDS_MAX = {b"set": 6, b"add": 6, b"replace": 6, b"append": 6, b"prepend": 6,
             b"cas": 7, b"incr": 4, b"decr": 4, b"touch": 4, b"delete": 4,
             b"verbosity": 3, b"flush_all": 3}
ODD_BYTES = re.compile(rb"\0|\r(?!\n)|^ |\n | -0")
GAT_ALONE = re.compile(rb"gats? +[^ ]* *\r?\n")
NEWER_FLAGS = re.compile(rb"m. [^\n]* [xE]|ms [^\n]* [sN]|mg [^\n]* C")
LONG_MODE = re.compile(rb"m. [^\n]* M[^ \r\n]{2}")
META_FLAGS = re.compile(rb"m. [^\n]* F(\d+)")
NOISE = [b"", b"", b" ", b"0", b"9", b"x", b"\n", b"-", b"\xff"]


def is_base64(word):
    try:
        base64.b64decode(word, validate=True)
    except binascii.Error:
        return False
    return True


def left_out(data):
    """Would a rule be in the way of such lines?"""
    words = data.split(b"\n", 1)[0].split()
    if any(word.isdigit() and int(word) >> 32 for word in words[1:4]):
        return True
    if words == [b"stats"] or \
            (words and len(words) > WORDS_MAX.get(words[0], 99)):
        return True
    flags = META_FLAGS.match(data)
    if flags and int(flags.group(1)) >> 32:
        return True
    if data[:1] == b"m" and b"b" in words[2:] and not is_base64(words[1]):
        return True
    return bool(ODD_BYTES.search(data) or GAT_ALONE.match(data)
                or NEWER_FLAGS.match(data) or LONG_MODE.match(data))


def mutants(dice, make):
    """The steps for a mutant of what make() gives."""
    while True:
        step = make()
        data = step.data
        at = dice.randrange(len(data))
        noise = dice.choice(NOISE + [data[at:at + 8]])
        data = data[:at] + noise + data[at + dice.choice((0, 1, 1, 2)):]
        if data and not left_out(data):
            return (step._replace(data=data, alone=True),
                    Step(b"flush_all\r\n"))
