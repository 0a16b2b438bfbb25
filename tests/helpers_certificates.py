"""Certificates of an authority of the tests, made by the `openssl` command; their contexts."""

from __future__ import annotations

import ssl
import subprocess
from pathlib import Path

CONFIG = """
[req]
distinguished_name = subject
[subject]
[authority]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign
subjectKeyIdentifier = hash
[end]
basicConstraints = CA:FALSE
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
subjectAltName = DNS:localhost, IP:127.0.0.1
"""
NEW = ["req", "-config", "config", "-x509", "-newkey", "ec", "-nodes", "-days", "30"]
NEW += ["-pkeyopt", "ec_paramgen_curve:P-256"]


class Certificates:
    """An authority in a folder, another one, and certificates of the first for both ends."""

    def __init__(self, folder: Path, openssl: str) -> None:
        self.folder, self.openssl = folder, openssl
        (folder / "config").write_text(CONFIG)
        for name in ("authority", "other"):
            self._make(name, "-extensions", "authority")
        for name in ("server", "client"):
            signed = ("-CA", "authority.pem", "-CAkey", "authority.key")
            self._make(name, "-extensions", "end", *signed)

    def _make(self, name: str, *arguments: str) -> None:
        files = ("-keyout", f"{name}.key", "-out", f"{name}.pem", "-subj", f"/CN={name}")
        command = [self.openssl, *NEW, *files, *arguments]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()

    def path(self, name: str) -> str:
        """Of a file, such as "authority.pem"."""
        return str(self.folder / name)

    def server(self, name: str = "server") -> ssl.SSLContext:
        """The context of a server."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.path(f"{name}.pem"), self.path(f"{name}.key"))
        return context

    def client(self, authority: str = "authority") -> ssl.SSLContext:
        """The context of a client, which trusts one authority."""
        return ssl.create_default_context(cafile=self.path(f"{authority}.pem"))
