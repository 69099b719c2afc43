"""What a run has found: records of one kind each, kept as lines of JSON.

A run writes them as it goes; everything that is printed is made from them
alone, so that an earlier run can be printed again.
"""

import json


class Records:
    """Records in the order in which they were found."""

    def __init__(self, log=None):
        self.all = []
        self.log = log

    @classmethod
    def read(cls, path):
        records = cls()
        with open(path) as lines:
            records.all = [json.loads(line) for line in lines if line.strip()]
        return records

    def keep(self, kind, **fields):
        record = {"kind": kind, **fields}
        self.all.append(record)
        if self.log is not None:
            self.log.write(json.dumps(record) + "\n")
            self.log.flush()

    def of(self, kind, **fields):
        """Those of this kind whose fields have these values."""
        return [record for record in self.all if record["kind"] == kind
                and all(record.get(name) == value
                        for name, value in fields.items())]

    def about(self):
        """The record that says where and how the run was made."""
        found = self.of("about")
        return found[0] if found else {}
