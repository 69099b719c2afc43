"""Berkeley DB calls our checksum, and logs are the same with and without it."""
import os
import re
import stat
import subprocess

import pytest

from harness.server import find_program, run_to_end

NAME = b"__ham_func4"
SIZES = [0, 1, 7, 8, 31, 32, 33, 100, 1000, 4000, 4096, 9000, 100_000]


def program_without(directory):
    """A copy of the program in which the function has another name."""
    with open(find_program(), "rb") as file:
        program = file.read()
    named = NAME + b"\0"
    assert named in program
    path = os.path.join(directory, "memcachedb")
    with open(path, "wb") as file:
        file.write(program.replace(named, NAME[::-1] + b"\0"))
    os.chmod(path, stat.S_IRWXU)
    return path


def whose_is_called(program):
    """The file in which the dynamic linker finds what Berkeley DB calls."""
    _, _, said = run_to_end("--version", executable=program,
                            env={"LD_DEBUG": "bindings", "LD_BIND_NOW": "1"})
    found = re.findall(r"binding file \S*/libdb\S* \[0\] to (\S+) \[0\]: "
                       r"normal symbol `(\w+)'", said)
    return {name.encode(): file for file, name in found}[NAME]


def value(size, salt):
    return (b"%d.%d " % (size, salt) * size)[:size]


def store(server, salt):
    with server.connect() as talk:
        for size in SIZES:
            talk.set(b"size-%d" % size, value(size, salt))


def check(server, salt):
    with server.connect() as talk:
        for size in SIZES:
            assert talk.get(b"size-%d" % size) == value(size, salt)


def test_berkeley_db_calls_ours(tmp_path):
    without = program_without(tmp_path)
    assert os.path.samefile(whose_is_called(find_program()), find_program())
    assert "libdb" in whose_is_called(without)


def test_it_gives_way_to_one_that_is_linked_in():
    """Of two that are not weak there would be no program."""
    symbols = subprocess.run(["nm", "-D", find_program()], check=True,
                             capture_output=True).stdout
    assert b" W " + NAME + b"\n" in symbols


@pytest.mark.parametrize("first_ours", [True, False],
                         ids=["ours first", "Berkeley DB's first"])
def test_each_recovers_what_the_other_wrote(new_server, tmp_path, first_ours):
    programs = [find_program(), program_without(tmp_path)]
    if not first_ours:
        programs.reverse()
    server = new_server(executable=programs[0])
    store(server, 0)
    for salt in range(3):
        server.kill9()
        server.popen["executable"] = programs[(salt + 1) % 2]
        server.start()
        check(server, salt)
        store(server, salt + 1)
        check(server, salt + 1)
