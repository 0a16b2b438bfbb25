"""cryptography, unmodified: keys are derived and texts signed in many tasklets.

A call of the library computes in C and Rust and is not interrupted; between calls time slices are.
"""

import importlib.util

import pytest

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("cryptography") is None, reason="cryptography is not installed"
)

KEYS = """
    import hashlib
    import threading
    import time
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    from cryptography.hazmat.primitives.kdf.pbkdf2 import PBKDF2HMAC
    from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

    COUNT, TURNS = 6, 5
    SHA, ECDSA = hashes.SHA256(), ec.ECDSA(hashes.SHA256())

    def derive(number):
        salt, password = b"salt %d" % number, b"password %d" % number
        key = PBKDF2HMAC(SHA, 32, salt, 1000).derive(password)
        assert key == hashlib.pbkdf2_hmac("sha256", password, salt, 1000, 32)
        other = Scrypt(salt=salt, length=32, n=256, r=8, p=1).derive(password)
        assert other == hashlib.scrypt(password, salt=salt, n=256, r=8, p=1, dklen=32)
        return key

    def sign(number, key):
        text = b"text %d" % number
        secret = ed25519.Ed25519PrivateKey.from_private_bytes(key)
        curve = ec.derive_private_key(number + 1, ec.SECP256R1())
        secret.public_key().verify(secret.sign(text), text)
        signature = curve.sign(text, ECDSA)
        curve.public_key().verify(signature, text, ECDSA)
        try:
            curve.public_key().verify(signature, text + b".", ECDSA)
        except InvalidSignature:
            pass
        else:
            raise AssertionError(number)

    def work(number):
        key = derive(number)
        digest, cipher = hashes.Hash(SHA), AESGCM(key)
        end = time.monotonic() + 60
        begun.add(number)
        while turns < TURNS or len(begun) < COUNT:  # the others go on, though no call here waits
            assert time.monotonic() < end
            sign(number, key)
            digest.update(b"part")
            nonce = number.to_bytes(12, "big")
            assert cipher.decrypt(nonce, cipher.encrypt(nonce, key, None), None) == key
        done.append(number)

    def count():
        global turns
        while turns < TURNS:
            time.sleep(0)
            turns += 1

    turns, begun, done = 0, set(), []
    threads = [threading.Thread(target=work, args=[number]) for number in range(COUNT)]
    for thread in [*threads, threading.Thread(target=count)]:
        thread.start()
    for thread in threads:
        thread.join()
    print(turns, sorted(done) == list(range(COUNT)))
"""


def test_keys_in_many_tasklets(run_program):
    """Each gets what it gets alone; hot loops of calls leave the others their turns."""
    done = run_program(KEYS)
    assert (done.returncode, done.stdout) == (0, "5 True\n"), done.stderr
