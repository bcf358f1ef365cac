"""A complete bot for the arena. It needs only Python 3.8 or later.

    python3 example_bot.py [PORT]

Set ARENA_PUBLIC_KEY to the arena's publicKey, and ARENA_RECIPIENT to the host of
the bot's URL or to BOT-ID@HOST. Then the bot accepts only connections that the
arena signed for it ("Verify the upgrade" in docs/protocol.md).

It places its settlements on the first legal vertices, discards from its largest
piles, and otherwise ends its turns. To improve it, change answer().
docs/protocol.md describes the requests and lists the actions.
"""
import base64
import hashlib
import hmac
import json
import os
import secrets
import socketserver
import struct
import sys
import time
from http.server import BaseHTTPRequestHandler

# The vertices and edges of the board ("The board" in docs/rules.md). Requests do
# not contain them.
CENTRES = [(2 * c + [2, 1, 0, 1, 2][r], 3 * r) for r, n in enumerate([3, 4, 5, 4, 3]) for c in range(n)]
CORNERS = [[(x + dx, y + dy) for dx, dy in [(0, -2), (1, -1), (1, 1), (0, 2), (-1, 1), (-1, -1)]] for x, y in CENTRES]
POINTS = sorted({p for corners in CORNERS for p in corners}, key=lambda p: (p[1], p[0]))
VERTEX = {point: i for i, point in enumerate(POINTS)}
EDGES = sorted({tuple(sorted((VERTEX[a], VERTEX[b]))) for c in CORNERS for a, b in zip(c, c[1:] + c[:1])})


def answer(request):
    """Returns the action for one decision."""
    view, kind = request["view"], request["kind"]
    if kind == "setup":
        towns = {town["vertex"] for town in view["towns"]}
        closed = towns | {v for edge in EDGES if towns & set(edge) for v in edge}
        vertex = next(v for v in range(54) if v not in closed)
        return {"settlement": vertex, "road": next(e for e, ends in enumerate(EDGES) if vertex in ends)}
    if kind == "discard":
        return {"cards": half(view["hand"])}
    if kind == "bandit":
        return {"hex": (view["board"]["bandit"] + 1) % 19}
    if kind == "trade":
        return {"accept": False}
    return {"type": "end_turn"}


def half(hand):
    """Returns half of a hand, rounded down, taken from its largest piles."""
    left, cards = dict(hand), {}
    for _ in range(sum(hand.values()) // 2):
        most = max(left, key=left.get)
        left[most] -= 1
        cards[most] = cards.get(most, 0) + 1
    return cards


# Ed25519 (RFC 8032), which Python's standard library lacks. Points are (X, Y, Z, T).
P, D = 2**255 - 19, -121665 * pow(121666, -1, 2**255 - 19)


def add(a, b):
    s, t = (a[1] - a[0]) * (b[1] - b[0]), (a[1] + a[0]) * (b[1] + b[0])
    u, v = 2 * a[3] * b[3] * D, 2 * a[2] * b[2]
    e, f, g, h = t - s, v - u, v + u, t + s
    return e * f % P, g * h % P, f * g % P, e * h % P


def times(n, point):
    total = (0, 1, 1, 0)
    while n:
        if n & 1:
            total = add(total, point)
        point, n = add(point, point), n >> 1
    return total


def decode(data):
    """Returns the point that 32 bytes encode."""
    y = int.from_bytes(data, "little") & (1 << 255) - 1
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    if (x * x - square) % P or y >= P:
        raise ValueError("not a point")
    if x % 2 != data[31] >> 7:
        x = P - x
    return x, y, 1, x * y % P


BASE = decode((4 * pow(5, -1, P) % P).to_bytes(32, "little"))


def signed(text, signature, key):
    """Returns whether a signature is the key's signature of a text."""
    try:
        signature, key = base64.b64decode(signature, validate=True), base64.b64decode(key)
        r, s = decode(signature[:32]), int.from_bytes(signature[32:], "little")
        k = int.from_bytes(hashlib.sha512(signature[:32] + key + text.encode()).digest(), "little")
        a, b = times(s, BASE), add(r, times(k, decode(key)))
    except (ValueError, IndexError):
        return False
    return len(signature) == 64 and not (a[0] * b[2] - b[0] * a[2]) % P and not (a[1] * b[2] - b[1] * a[2]) % P


def verified(headers):
    """Returns whether the arena has just signed these upgrade headers for this bot."""
    names = ["timestamp", "match", "recipient", "commitment", "beacon-round", "log-index"]
    values = [headers.get("x-arena-" + name, "") for name in names]
    text = "\n".join(["x-arena-signature-v2"] + values)
    return (values[0].isdecimal() and abs(time.time() - int(values[0]) / 1000) <= 30
            and ("@" + values[2]).endswith("@" + RECIPIENT)
            and signed(text, headers.get("x-arena-signature-v2", ""), KEY))


def nonce(match):
    """Returns the bot's share of a match's seed: an HMAC that only its owner can compute."""
    return hmac.new(SECRET, match.encode(), hashlib.sha256).hexdigest()


def secret():
    """Returns the secret for the nonces. The first run creates it and stores it in a file. Keep that file."""
    with open(os.open("nonce-secret", os.O_CREAT | os.O_RDWR, 0o600), "r+") as file:
        stored = file.read().strip() or secrets.token_hex(32)
        file.seek(0)
        file.write(stored)
    return stored.encode()


class Bot(BaseHTTPRequestHandler):
    """Answers GET …/ping for the deploy check. Every other path accepts WebSockets."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path.split("?")[0].endswith("/ping"):
            self.send_response(200)
            self.send_header("Content-Length", "4")
            self.end_headers()
            self.wfile.write(b"pong")
        elif "Sec-WebSocket-Key" not in self.headers:
            self.refuse(426)  # not a WebSocket client, for example a browser
        elif KEY and not verified(self.headers):
            self.refuse(401)
        else:
            self.upgrade()
            while (frame := self.receive()) is not None:
                request = json.loads(frame)
                self.send(1, json.dumps({"id": request["id"], "action": answer(request)}).encode())

    def refuse(self, status):
        self.send_response(status)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def upgrade(self):
        key = self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(hashlib.sha1(key.encode()).digest()).decode())
        self.send_header("x-arena-nonce", nonce(self.headers.get("x-arena-match", "")))
        self.send_header("x-arena-version", "1.0")  # change it with your code
        self.end_headers()
        self.close_connection = True

    def receive(self):
        """Returns the next message, or None once the arena has closed the socket (RFC 6455)."""
        message = b""
        while len(head := self.rfile.read(2)) == 2:
            size = head[1] & 127
            if size == 126:
                size, = struct.unpack(">H", self.rfile.read(2))
            elif size == 127:
                size, = struct.unpack(">Q", self.rfile.read(8))
            mask, data = self.rfile.read(4), self.rfile.read(size)
            data = bytes(b ^ mask[i % 4] for i, b in enumerate(data))
            opcode = head[0] & 15
            if opcode == 8:  # close: answer with a close frame
                self.send(8, data)
                return None
            if opcode == 9:  # ping
                self.send(10, data)
            elif opcode < 3:  # text, or a continuation of it
                message += data
                if head[0] & 128:
                    return message
        return None

    def send(self, opcode, data):
        size = bytes([len(data)]) if len(data) < 126 else struct.pack(">BH", 126, len(data))
        self.wfile.write(bytes([128 | opcode]) + size + data)


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True


def listen(port):
    try:
        return Server(("127.0.0.1", int(port)), Bot)
    except (ValueError, OverflowError):
        sys.exit("example_bot.py: port %s is invalid: choose 0 to 65535" % port)
    except OSError as failure:
        sys.exit("example_bot.py: port %s: %s" % (port, failure.strerror))


if __name__ == "__main__":
    with listen(sys.argv[1] if len(sys.argv) > 1 else 9002) as server:
        SECRET = secret()
        KEY = os.environ.get("ARENA_PUBLIC_KEY", "")
        RECIPIENT = os.environ.get("ARENA_RECIPIENT") or "%s:%d" % server.server_address
        print("http://%s:%d" % server.server_address, flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            pass
