"""The arena's signature of an upgrade ("Verify the upgrade" in docs/protocol.md).

Python's standard library lacks Ed25519 (RFC 8032), so this module verifies it itself.
"""
from __future__ import annotations

import base64
import hashlib
import time
from typing import Mapping

NAMES = ["timestamp", "match", "recipient", "commitment", "beacon-round", "log-index"]
MAX_AGE = 30  # seconds


def verified(headers: Mapping[str, str], key: str, recipient: str, now: float | None = None) -> bool:
    """Returns whether an arena has just signed these headers for this bot.

    key is the arena's publicKey. recipient is the host of the bot's URL, or BOT-ID@HOST.
    The names of the headers must be in lower case, unless the mapping ignores case.
    """
    values = [headers.get("x-arena-" + name) or "" for name in NAMES]
    text = "\n".join(["x-arena-signature-v2"] + values)
    now = time.time() if now is None else now
    return (values[0].isdecimal() and abs(now - int(values[0]) / 1000) <= MAX_AGE
            and ("@" + values[2]).endswith("@" + recipient)
            and signed(text, headers.get("x-arena-signature-v2") or "", key))


# Points of the curve are (X, Y, Z, T).
_P = 2**255 - 19
_D = -121665 * pow(121666, -1, _P)


def _add(a, b):
    s, t = (a[1] - a[0]) * (b[1] - b[0]), (a[1] + a[0]) * (b[1] + b[0])
    u, v = 2 * a[3] * b[3] * _D, 2 * a[2] * b[2]
    e, f, g, h = t - s, v - u, v + u, t + s
    return e * f % _P, g * h % _P, f * g % _P, e * h % _P


def _times(n, point):
    total = (0, 1, 1, 0)
    while n:
        if n & 1:
            total = _add(total, point)
        point, n = _add(point, point), n >> 1
    return total


def _decode(data):
    """Returns the point that 32 bytes encode."""
    y = int.from_bytes(data, "little") & (1 << 255) - 1
    square = (y * y - 1) * pow(_D * y * y + 1, -1, _P) % _P
    x = pow(square, (_P + 3) // 8, _P)
    if (x * x - square) % _P:
        x = x * pow(2, (_P - 1) // 4, _P) % _P
    if (x * x - square) % _P or y >= _P:
        raise ValueError("not a point")
    if x % 2 != data[31] >> 7:
        x = _P - x
    return x, y, 1, x * y % _P


_BASE = _decode((4 * pow(5, -1, _P) % _P).to_bytes(32, "little"))


def signed(text: str, signature: str, key: str) -> bool:
    """Returns whether a signature is the key's signature of a text. Both are in base64."""
    try:
        sig, public = base64.b64decode(signature, validate=True), base64.b64decode(key)
        r, s = _decode(sig[:32]), int.from_bytes(sig[32:], "little")
        k = int.from_bytes(hashlib.sha512(sig[:32] + public + text.encode()).digest(), "little")
        a, b = _times(s, _BASE), _add(r, _times(k, _decode(public)))
    except (ValueError, IndexError):
        return False
    return len(sig) == 64 and not (a[0] * b[2] - b[0] * a[2]) % _P and not (a[1] * b[2] - b[1] * a[2]) % _P
