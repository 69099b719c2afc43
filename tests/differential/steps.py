"""What is sent: steps, and how they are cut into batches.

A step is one command, or a few that belong together. A stream is a list of
steps; a batch is a run of steps that goes out in one write and is answered as
a whole. Both servers get the same bytes but for cas ids: every server has its
own, so a step names the key whose id it means, and each server gets the id
that it showed last for that key.
"""
import re
import struct
from typing import NamedTuple, Optional

CAS = b"<cas>"  # stands in a text step where the id goes
CAS_TOKEN = re.compile(rb"(?<= )(C?)<cas>(?=[ \r\n])")
NO_ID = 1 << 63  # where none was shown: no item has it
PACKET_CAS = slice(16, 24)  # where it goes in a packet


class Step(NamedTuple):
    data: bytes
    ref: Optional[bytes] = None  # the key whose id is to be put in
    first: bool = False  # begins a batch
    last: bool = False  # ends its batch: its answer is needed by the next
    binary: bool = False
    alone: bool = False  # on a connection of its own that is then half closed

    def render(self, ids):
        """The bytes for a server that showed these ids last."""
        if self.ref is None:
            return self.data
        known = ids.get(self.ref, NO_ID)
        if not self.binary:
            data = CAS_TOKEN.sub(rb"\g<1>%d" % known, self.data)
            # Damage can make it part of a key, which must be the same for both.
            return data.replace(CAS, b"%d" % NO_ID)
        return (self.data[:PACKET_CAS.start] + struct.pack(">Q", known)
                + self.data[PACKET_CAS.stop:])


def batches(steps):
    """The runs of steps that go out together."""
    batch = []
    for step in steps:
        if batch and (step.binary != batch[-1].binary or step.alone
                      or step.first):
            yield batch
            batch = []
        batch.append(step)
        if step.last or step.alone:
            yield batch
            batch = []
    if batch:
        yield batch
