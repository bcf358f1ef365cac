"""Uses the Python client (pip install esdbclient) to read a stream, its category and
$all, to follow $all with two filters, and to share a persistent subscription.

    python client.py 'esdb://127.0.0.1:2113?tls=false' match-…
"""

import json
import re
import sys
import threading
import uuid

from esdbclient import EventStoreDBClient

client, stream = EventStoreDBClient(uri=sys.argv[1]), sys.argv[2]

events = list(client.get_stream(stream))
category = "$ce-" + stream.split("-")[0]
in_category = [e for e in client.get_stream(category, resolve_links=True) if e.stream_name == stream]

# A catch-up subscription continues with new events. This one stops after the stored
# events.
subscribed = 0
with client.subscribe_to_all(filter_include=[re.escape(stream)], filter_by_stream_name=True) as subscription:
    for event in subscription:
        subscribed += 1
        if subscribed == len(events):
            break

# By default, read_all and subscribe_to_all send a filter that leaves out system
# events.
assert sum(e.stream_name == stream for e in client.read_all()) == len(events)
defaults = 0
with client.subscribe_to_all() as subscription:
    for event in subscription:
        assert not event.type.startswith("$")
        defaults += event.stream_name == stream
        if defaults == len(events):
            break

# Two workers share a persistent subscription: each event goes to one of them.
# The name of the group must be new, because other clients may have groups too.
group = "workers-" + uuid.uuid4().hex
client.create_subscription_to_stream(group, stream, from_end=False)
seen, lock = [], threading.Lock()


def work(subscription):
    for event in subscription:
        subscription.ack(event)
        with lock:
            seen.append(event.stream_position)
            if len(seen) == len(events):
                for s in subscriptions:
                    s.stop()


subscriptions = [client.read_subscription_to_stream(group, stream) for _ in range(2)]
workers = [threading.Thread(target=work, args=(s,), daemon=True) for s in subscriptions]
for w in workers:
    w.start()
for w in workers:
    w.join(60)
client.delete_subscription(group, stream)
print(json.dumps({"read": len(events), "category": len(in_category), "subscribed": subscribed, "defaults": defaults, "shared": len(set(seen))}))
client.close()
