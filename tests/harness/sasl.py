"""A folder with what libsasl2 wants to know, and its file of passwords."""
import shutil
import subprocess


class Sasl:
    """Start the server with env=sasl.env."""

    def __init__(self, folder):
        self.folder = folder
        self.database = folder / "sasldb"
        self.env = {"SASL_CONF_PATH": str(folder)}
        self.configure("mech_list: plain cram-md5")

    def configure(self, *lines):
        (self.folder / "memcached.conf").write_text(
            "\n".join([*lines, f"sasldb_path: {self.database}", ""]))

    def add(self, user, password, *options):
        subprocess.run(
            [shutil.which("saslpasswd2", path="/usr/sbin:/usr/bin"), "-a",
             "memcached", "-f", self.database, "-c", "-p", *options, user],
            input=password, text=True, check=True, capture_output=True)
