"""Registers a bot through the client that openapi-python-client generated. The
variables ARENA, KEY_ID, KEY (PKCS #8 in base64) and BOT name the arena, the key that
signs and the bot's URL. Prints what the arena returned."""

import base64
import json
import os
import time

import httpx
from cryptography.hazmat.primitives.serialization import load_der_private_key
from hex_arena_client import AuthenticatedClient
from hex_arena_client.api.bots import list_bots, register_bot
from hex_arena_client.models import Bot, ListBotsMode, ListBotsOutput, RegisterBotInput, RegisterBotInputMode

key = load_der_private_key(base64.b64decode(os.environ["KEY"]), None)


def sign(request: httpx.Request) -> None:
    timestamp = str(int(time.time() * 1000))
    message = f"{timestamp}.{request.method}.{request.url.raw_path.decode()}.".encode() + request.read()
    request.headers["x-arena-timestamp"] = timestamp
    request.headers["x-arena-signature"] = base64.b64encode(key.sign(message)).decode()


client = AuthenticatedClient(
    base_url=os.environ["ARENA"], token=os.environ["KEY_ID"], prefix="", auth_header_name="x-arena-key",
    timeout=httpx.Timeout(60), httpx_args={"event_hooks": {"request": [sign]}},
)
bot = register_bot.sync(client=client, body=RegisterBotInput(name="python", mode=RegisterBotInputMode.PARLEY, url=os.environ["BOT"]))
assert isinstance(bot, Bot), bot
bots = list_bots.sync(client=client, mode=ListBotsMode.PARLEY)
assert isinstance(bots, ListBotsOutput), bots
print(json.dumps({"registered": bot.id, "listed": [b.id for b in bots.bots]}))
