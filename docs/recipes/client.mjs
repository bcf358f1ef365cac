// Uses the official Node.js client (npm install @eventstore/db-client) to read a
// stream and its category, to follow $all with two filters, and to share a persistent
// subscription.
//
//     node client.mjs 'esdb://127.0.0.1:2113?tls=false' match-…
import { createRequire } from "node:module";
import { randomUUID } from "node:crypto";

const require = createRequire(process.env.NODE_MODULES ? process.env.NODE_MODULES + "/" : import.meta.url);
const { EventStoreDBClient, excludeSystemEvents, persistentSubscriptionToStreamSettingsFromDefaults, streamNameFilter, START } =
  require("@eventstore/db-client");

const [, , address, stream] = process.argv;
const client = new EventStoreDBClient({ endpoint: new URL(address).host }, { insecure: true });

let read = 0;
for await (const { event } of client.readStream(stream, { fromRevision: START })) {
  if (event.revision !== BigInt(read++)) throw new Error(`event ${event.revision} is out of order`);
}
let inCategory = 0;
const category = "$ce-" + stream.split("-")[0];
for await (const { event } of client.readStream(category, { resolveLinkTos: true })) inCategory += event?.streamId === stream ? 1 : 0;

// A catch-up subscription continues with new events. This one stops after the stored
// events.
let subscribed = 0;
const all = client.subscribeToAll({ fromPosition: START, filter: streamNameFilter({ prefixes: [stream] }) });
for await (const _ of all) if (++subscribed === read) break;
await all.unsubscribe();

// This filter leaves out system events.
let defaults = 0;
const own = client.subscribeToAll({ fromPosition: START, filter: excludeSystemEvents() });
for await (const { event } of own) {
  if (event.type.startsWith("$")) throw new Error(`the filter selected ${event.type}`);
  if (event.streamId === stream && ++defaults === read) break;
}
await own.unsubscribe();

// Two workers share a persistent subscription: each event goes to one of them.
// The name of the group must be new, because other clients may have groups too.
const group = "workers-" + randomUUID();
await client.createPersistentSubscriptionToStream(stream, group, persistentSubscriptionToStreamSettingsFromDefaults({ startFrom: START }));
const workers = [1, 2].map(() => client.subscribeToPersistentSubscriptionToStream(stream, group, { bufferSize: 2 }));
const seen = new Set();
await new Promise((done, failed) => {
  for (const worker of workers) {
    worker.on("error", failed);
    worker.on("data", async (event) => {
      await worker.ack(event);
      seen.add(event.event.revision);
      if (seen.size === read) done();
    });
  }
});
await Promise.all(workers.map((w) => w.unsubscribe()));
await client.deletePersistentSubscriptionToStream(stream, group);
console.log(JSON.stringify({ read, category: inCategory, subscribed, defaults, shared: seen.size }));
await client.dispose();
