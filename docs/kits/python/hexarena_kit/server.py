"""The bot's server: the ping, the upgrade, WebSocket frames (RFC 6455), nonces and notes."""
from __future__ import annotations

import argparse
import base64
import hashlib
import hmac
import json
import os
import secrets
import socketserver
import struct
import sys
import threading
from http.server import BaseHTTPRequestHandler
from typing import Callable

from .game import Game, Memory
from .protocol import Action
from .signature import verified

Answer = Callable[[Game], Action]
_REMEMBERED = 100  # matches


class Server(socketserver.ThreadingTCPServer):
    """Answers the arena. Call serve_forever to start it.

    answer is the strategy, and version is the version of the program. key is the arena's publicKey: without it,
    the server accepts every connection. recipient is the host of the bot's URL, or BOT-ID@HOST: the default is
    the address of the server. notes is the file to which the notes are appended. folder contains the secret of
    the nonces.
    """

    allow_reuse_address = daemon_threads = True

    def __init__(self, answer: Answer, port: int = 0, version: str = "1.0", key: str = "", recipient: str = "",
                 notes: str | None = None, folder: str = "."):
        super().__init__(("127.0.0.1", port), _Handler)
        self.answer, self.version, self.key, self.notes = answer, version, key, notes
        self.address = "%s:%d" % self.server_address
        self.recipient = recipient or self.address
        self.secret = _secret(os.path.join(folder, "nonce-secret"))
        self.lock = threading.Lock()  # each match has its own thread
        self.memories: dict[str, Memory] = {}  # by match; they survive a reconnect

    def nonce(self, match: str) -> str:
        """Returns the bot's share of a match's seed: an HMAC that only its owner can compute."""
        return hmac.new(self.secret, match.encode(), hashlib.sha256).hexdigest()

    def respond(self, request: dict) -> dict:
        """Returns the answer to a request."""
        match = request["matchId"]
        with self.lock:
            memory = self.memories.pop(match, None) or Memory()
            self.memories[match] = memory  # the latest match is last
            while len(self.memories) > _REMEMBERED:
                self.memories.pop(next(iter(self.memories)))
        if memory.repeated(request):
            return {"id": request["id"], "action": memory.sent[-1]}
        memory.begin(request["view"]["turn"])
        game = Game(request, memory)
        action = self.answer(game)
        memory.record(request, action)
        if self.notes and game.note is not None:
            line = json.dumps({"match": match, "decision": request["id"], "note": game.note})
            with open(self.notes, "a", encoding="utf-8") as file:  # several programs may share the file
                file.write(line + "\n")
        return {"id": request["id"], "action": action}


def run(answer: Answer, version: str = "1.0") -> None:
    """Runs a bot as a program with the arguments [PORT] [--notes FILE].

    The variables ARENA_PUBLIC_KEY and ARENA_RECIPIENT set the key and the recipient.
    """
    parser = argparse.ArgumentParser(description="A bot for the arena.")
    parser.add_argument("port", nargs="?", type=int, default=9002, help="the port to listen on; 0 picks a free port (default 9002)")
    parser.add_argument("--notes", metavar="FILE", help="append the bot's notes to this file, for arena view --notes")
    args = parser.parse_args()
    env = os.environ.get
    try:
        server = Server(answer, args.port, version, env("ARENA_PUBLIC_KEY", ""), env("ARENA_RECIPIENT", ""), args.notes)
    except (OSError, OverflowError) as failure:
        sys.exit("port %d: %s" % (args.port, failure))
    with server:
        print("http://" + server.address, flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            pass


def _secret(path: str) -> bytes:
    """Returns the secret of the nonces. The first run creates it and stores it in a file. Keep that file."""
    with open(os.open(path, os.O_CREAT | os.O_RDWR, 0o600), "r+") as file:
        stored = file.read().strip() or secrets.token_hex(32)
        file.seek(0)
        file.write(stored)
    return stored.encode()


class _Handler(BaseHTTPRequestHandler):
    """Answers GET …/ping for the deploy check. Every other path accepts WebSockets."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Server

    def do_GET(self):
        if self.path.split("?")[0].endswith("/ping"):
            self._head(200, {"Content-Length": "4"})
            self.wfile.write(b"pong")
        elif "Sec-WebSocket-Key" not in self.headers:  # for example a browser
            self._head(426, {"Upgrade": "websocket", "Connection": "Upgrade", "Content-Length": "0"})
        elif self.server.key and not verified(self.headers, self.server.key, self.server.recipient):
            self._head(401, {"Content-Length": "0"})
        else:
            self._upgrade()
            message = self._receive()
            while message is not None:
                self._send(1, json.dumps(self.server.respond(json.loads(message))).encode())
                message = self._receive()

    def log_message(self, *_):
        pass

    def _head(self, status: int, headers: dict):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def _upgrade(self):
        key = self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        self._head(101, {
            "Upgrade": "websocket", "Connection": "Upgrade",
            "Sec-WebSocket-Accept": base64.b64encode(hashlib.sha1(key.encode()).digest()).decode(),
            "x-arena-nonce": self.server.nonce(self.headers.get("x-arena-match", "")),
            "x-arena-version": self.server.version,
        })
        self.close_connection = True

    def _receive(self) -> bytes | None:
        """Returns the next message, or None once the arena has closed the socket."""
        message = b""
        while True:
            head = self.rfile.read(2)
            if len(head) < 2:
                return None
            size = head[1] & 127
            if size > 125:  # the size follows, in 2 or 8 bytes
                size = int.from_bytes(self.rfile.read(2 if size == 126 else 8), "big")
            mask, data = self.rfile.read(4), self.rfile.read(size)
            if len(mask) < 4 or len(data) < size:
                return None
            stream = (mask * (len(data) // 4 + 1))[:len(data)]
            data = (int.from_bytes(data, "big") ^ int.from_bytes(stream, "big")).to_bytes(len(data), "big")
            opcode = head[0] & 15
            if opcode == 8:  # close: answer with a close frame
                self._send(8, data)
                return None
            if opcode == 9:  # ping
                self._send(10, data)
            elif opcode < 3:  # text, or a continuation of it
                message += data
                if head[0] & 128:
                    return message

    def _send(self, opcode: int, data: bytes):
        size = bytes([len(data)]) if len(data) < 126 else struct.pack(">BH", 126, len(data))
        self.wfile.write(bytes([128 | opcode]) + size + data)
