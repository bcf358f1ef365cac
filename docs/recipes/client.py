"""Appends, reads, subscribes with a filter, and shares a persistent
subscription, with the Python client (pip install esdbclient).

    python client.py 'esdb://127.0.0.1:2113?tls=false'
"""

import json
import sys
import threading
import uuid

from esdbclient import EventStoreDBClient, NewEvent, StreamState

client = EventStoreDBClient(uri=sys.argv[1])
category = "recipe" + uuid.uuid4().hex
stream = category + "-1"

events = [NewEvent(type="Counted", data=json.dumps({"n": n}).encode()) for n in range(10)]
client.append_to_stream(stream, current_version=StreamState.NO_STREAM, events=events)

read = [json.loads(e.data)["n"] for e in client.get_stream(stream)]
assert read == list(range(10))
in_category = client.get_stream("$ce-" + category, resolve_links=True)

# A catch-up subscription continues with new events; here ten events are enough.
subscribed = 0
with client.subscribe_to_all(filter_include=[stream], filter_by_stream_name=True) as subscription:
    for event in subscription:
        subscribed += 1
        if subscribed == 10:
            break

# By default, the client leaves out system events, with a filter.
defaults = sum(1 for _ in client.read_all())
with client.subscribe_to_all() as subscription:
    for event in subscription:
        assert event.type == "Counted"
        if event.stream_position == 9:
            break

# Two workers share a persistent subscription: each event goes to one of them.
client.create_subscription_to_stream("workers", stream, from_end=False)
seen, lock = [], threading.Lock()


def work(subscription):
    for event in subscription:
        subscription.ack(event)
        with lock:
            seen.append(event.stream_position)
            if len(seen) == 10:
                for s in subscriptions:
                    s.stop()


subscriptions = [client.read_subscription_to_stream("workers", stream) for _ in range(2)]
workers = [threading.Thread(target=work, args=(s,), daemon=True) for s in subscriptions]
for w in workers:
    w.start()
for w in workers:
    w.join(60)
print(json.dumps({"read": len(read), "category": len(in_category), "subscribed": subscribed, "defaults": defaults, "shared": len(set(seen))}))
client.close()
