"""Tests of the kit and of the sample bot. They need no arena: python3 -m unittest"""
import gzip
import io
import json
import os
import socket
import struct
import tempfile
import threading
import unittest
from contextlib import contextmanager, redirect_stderr

import sample_bot
from hexarena_kit import EDGE_VERTICES, HEX_VERTICES, Game, Memory, Server, verified

HERE = os.path.dirname(os.path.abspath(__file__))
PLACES = [os.path.join(folder, "legal_moves.jsonl.gz") for folder in (HERE, os.path.dirname(HERE))]
POSITIONS = next(filter(os.path.exists, PLACES), None)

# From docs/protocol.md ("Verify the upgrade").
KEY = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="
UPGRADE = {
    "x-arena-timestamp": "1795275943070",
    "x-arena-match": "233cd1aa-cd7f-5811-aa1f-86d1fe8fba6a",
    "x-arena-recipient": "9cc4ef48-8b70-4c21-86d2-aee152ac3782@127.0.0.1:9002",
    "x-arena-commitment": "cd9dd2e9c269c1afc565ed24bbc32ccd896b080711bc038ee58353d2b55afeb2",
    "x-arena-beacon-round": "23456789",
    "x-arena-log-index": "31",
    "x-arena-signature-v2": "0umHjM7EDuBf6+4JaVGZEtxcaUyUw2G3iX4mdhz86vP8DV2mXhwwYh9IlR9UDVwJXjCTIaNCuwpO+tGdHn14DQ==",
}
DEPLOY_CHECK = {
    "x-arena-timestamp": "1795276001204",
    "x-arena-match": "deploy-check",
    "x-arena-recipient": "5b6f2a44-2f0e-4c7a-9d0b-0d7a4f1f6c11@[2001:db8::7]:8443",
    "x-arena-signature-v2": "Xm7N1k3hChJpNn6HHOLzNkh+BZmYHc5zou1e1qUoYyo2YW/XZszw70A76C43zZH76R7Rm1UYjYwFwRcqO/K6AQ==",
}


def positions():
    """Yields each position of the file, with its game."""
    with gzip.open(POSITIONS, "rt", encoding="utf-8") as lines:
        for position in map(json.loads, lines):
            seen, turn = position["memory"], position["request"]["view"]["turn"]
            yield position, Game(position["request"], Memory(seen["devPlayed"], seen["offers"], seen["talked"], turn))


def plain(actions):
    return sorted(json.dumps(action, sort_keys=True) for action in actions)


@unittest.skipUnless(POSITIONS, "legal_moves.jsonl.gz is neither in this folder nor in the one above")
class Moves(unittest.TestCase):
    def test_legal_moves_are_the_arenas(self):
        kinds = {}
        for position, game in positions():
            self.assertEqual(plain(position["legal"]), plain(game.legal()), position)
            kinds[game.kind] = kinds.get(game.kind, 0) + 1
        self.assertEqual(500, sum(kinds.values()))
        self.assertEqual(5, len(kinds))

    def test_samples_are_judged_as_in_the_arena(self):
        for position, game in positions():
            for sample in position["samples"]:
                self.assertEqual(sample["reason"] is None, game.allows(sample["action"]), (sample, position))

    def test_the_sample_bot_answers_every_position_legally(self):
        for position, game in positions():
            action = sample_bot.answer(game)
            self.assertTrue(game.allows(action), (action, position))


class Board(unittest.TestCase):
    def test_numbers_are_those_of_the_rules(self):
        self.assertEqual([0, 4, 8, 12, 7, 3], HEX_VERTICES[0])
        self.assertEqual([41, 46, 50, 53, 49, 45], HEX_VERTICES[18])
        self.assertEqual([(0, 3), (0, 4)], EDGE_VERTICES[:2])
        self.assertEqual(72, len(EDGE_VERTICES))


class Signature(unittest.TestCase):
    def test_the_vectors_of_the_protocol(self):
        self.assertTrue(verified(UPGRADE, KEY, "127.0.0.1:9002", now=1795275943))
        self.assertTrue(verified(DEPLOY_CHECK, KEY, DEPLOY_CHECK["x-arena-recipient"], now=1795276001))

    def test_forgeries(self):
        for name in UPGRADE:
            for forged in ("", UPGRADE[name][:-1], "1" + UPGRADE[name]):
                self.assertFalse(verified({**UPGRADE, name: forged}, KEY, "127.0.0.1:9002", now=1795275943), name)
        self.assertFalse(verified(UPGRADE, KEY, "127.0.0.1:9003", now=1795275943), "another recipient")
        self.assertFalse(verified(UPGRADE, KEY, "127.0.0.1:9002", now=1795275974), "too old")
        self.assertFalse(verified(UPGRADE, "x" + KEY[1:], "127.0.0.1:9002", now=1795275943), "another key")


@contextmanager
def serving(answer, **options):
    with tempfile.TemporaryDirectory() as folder, Server(answer, folder=folder, **options) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


class Client:
    """What the arena does on the wire."""

    def __init__(self, server, path="/", headers=()):
        self.socket = socket.create_connection(server.server_address, timeout=60)
        lines = ["GET %s HTTP/1.1" % path, "Host: " + server.address] + ["%s: %s" % header for header in headers]
        self.socket.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        self.file = self.socket.makefile("rb")
        self.status = int(self.file.readline().split()[1])
        self.headers = {}
        while True:
            line = self.file.readline().decode().strip()
            if not line:
                break
            name, _, value = line.partition(": ")
            self.headers[name.lower()] = value

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
        self.socket.close()

    def send(self, data, head=0x81):
        mask = b"\x01\x02\x03\x04"
        size = bytes([128 | len(data)]) if len(data) < 126 else struct.pack(">BH", 128 | 126, len(data))
        self.socket.sendall(bytes([head]) + size + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(data)))

    def receive(self):
        head = self.file.read(2)
        size = struct.unpack(">H", self.file.read(2))[0] if head[1] == 126 else head[1]
        return head[0], self.file.read(size)


def upgrade(**more):
    headers = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "x-arena-match": "m"}
    return list({**headers, **more}.items())


def request(number, turn=1):
    return {"id": number, "matchId": "m", "kind": "turn", "view": {"seat": 0, "turn": turn, "towns": [], "roads": [], "hand": {}}}


class Wire(unittest.TestCase):
    def test_a_match(self):
        memories = []

        def answer(game):
            memories.append((game.memory.offers, game.memory.talked))
            game.note = {"memories": len(memories)}
            return {"type": "offer_trade", "give": {"ore": 1}, "get": {"wool": 1}, "talk": "Anyone?"}

        with tempfile.TemporaryDirectory() as folder:
            notes = os.path.join(folder, "notes.jsonl")
            with serving(answer, version="test 1", notes=notes) as server:
                with Client(server, headers=upgrade()) as arena:
                    self.assertEqual(101, arena.status)
                    self.assertEqual("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", arena.headers["sec-websocket-accept"])
                    self.assertEqual("test 1", arena.headers["x-arena-version"])
                    self.assertEqual(server.nonce("m"), arena.headers["x-arena-nonce"])
                    arena.send(json.dumps(request(3)).encode())
                    self.assertEqual(3, json.loads(arena.receive()[1])["id"])
                    arena.send(b"hi", head=0x89)
                    self.assertEqual((0x8A, b"hi"), arena.receive())
                with Client(server, headers=upgrade()) as arena:  # the arena dials again, and asks again
                    arena.send(json.dumps(request(3)).encode())
                    self.assertEqual("offer_trade", json.loads(arena.receive()[1])["action"]["type"])
                    text = json.dumps(request(5)).encode()
                    arena.send(text[:20], head=0x01)
                    arena.send(text[20:], head=0x80)
                    arena.receive()
                    arena.send(json.dumps(request(9, turn=5)).encode())
                    arena.receive()
                    arena.send(b"\x03\xe8", head=0x88)
                    self.assertEqual((0x88, b"\x03\xe8"), arena.receive())
            self.assertEqual([(0, False), (1, True), (0, False)], memories)
            with open(notes, encoding="utf-8") as lines:
                want = [{"match": "m", "decision": d, "note": {"memories": n}} for d, n in ((3, 1), (5, 2), (9, 3))]
                self.assertEqual(want, list(map(json.loads, lines)))

    def test_a_strategy_that_fails_closes_its_socket_only(self):
        def answer(game):
            if game.request["id"] == 3:
                raise ValueError("the strategy fails, as this test wants")
            return {"type": "end_turn"}

        with serving(answer) as server, redirect_stderr(io.StringIO()) as said:
            with Client(server, headers=upgrade()) as arena:
                arena.send(json.dumps(request(3)).encode())
                self.assertEqual(b"", arena.file.read())
            with Client(server, headers=upgrade()) as arena:
                arena.send(json.dumps(request(4)).encode())
                self.assertEqual(4, json.loads(arena.receive()[1])["id"])
        self.assertIn("as this test wants", said.getvalue())

    def test_the_ping_and_other_callers(self):
        with serving(lambda game: {}, key=KEY) as server:
            with Client(server, path="/bot/ping?v=2") as arena:
                self.assertEqual((200, b"pong"), (arena.status, arena.file.read(4)))
            with Client(server) as browser:
                self.assertEqual(426, browser.status)
            with Client(server, headers=upgrade(**UPGRADE)) as forger:
                self.assertEqual(401, forger.status, "the signature is too old")

    def test_the_secret_stays_in_its_file(self):
        with tempfile.TemporaryDirectory() as folder:
            nonces = []
            for _ in range(2):
                with Server(lambda game: {}, folder=folder) as server:
                    nonces.append(server.nonce("m"))
            self.assertEqual(nonces[0], nonces[1])
            self.assertEqual(64, len(nonces[0]))


if __name__ == "__main__":
    unittest.main()
