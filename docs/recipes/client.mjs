// Appends, reads, subscribes with a filter, and shares a persistent
// subscription, with the official Node.js client (npm install @eventstore/db-client).
//
//     node client.mjs 'esdb://127.0.0.1:2113?tls=false'
import { createRequire } from "node:module";
import { randomUUID } from "node:crypto";

const require = createRequire(process.env.NODE_MODULES ? process.env.NODE_MODULES + "/" : import.meta.url);
const { EventStoreDBClient, excludeSystemEvents, jsonEvent, persistentSubscriptionToStreamSettingsFromDefaults, streamNameFilter, NO_STREAM, START } =
  require("@eventstore/db-client");

const client = new EventStoreDBClient({ endpoint: new URL(process.argv[2]).host }, { insecure: true });
const category = "recipe" + randomUUID().replaceAll("-", "");
const stream = category + "-1";

const events = Array.from({ length: 10 }, (_, n) => jsonEvent({ type: "Counted", data: { n } }));
await client.appendToStream(stream, events, { expectedRevision: NO_STREAM });

let read = 0;
for await (const { event } of client.readStream(stream, { fromRevision: START })) {
  if (event.data.n !== read++) throw new Error(`event ${event.data.n} is out of order`);
}
let inCategory = 0;
for await (const { event } of client.readStream("$ce-" + category, { resolveLinkTos: true })) inCategory += event ? 1 : 0;

// A catch-up subscription continues with new events; here ten events are enough.
let subscribed = 0;
const all = client.subscribeToAll({ fromPosition: START, filter: streamNameFilter({ prefixes: [stream] }) });
for await (const _ of all) if (++subscribed === 10) break;
await all.unsubscribe();

// This filter leaves out system events.
let defaults = 0;
const own = client.subscribeToAll({ fromPosition: START, filter: excludeSystemEvents() });
for await (const { event } of own) {
  if (event.type !== "Counted") throw new Error(`the filter selected ${event.type}`);
  if (++defaults === 10) break;
}
await own.unsubscribe();

// Two workers share a persistent subscription: each event goes to one of them.
await client.createPersistentSubscriptionToStream(stream, "workers", persistentSubscriptionToStreamSettingsFromDefaults({ startFrom: START }));
const workers = [1, 2].map(() => client.subscribeToPersistentSubscriptionToStream(stream, "workers", { bufferSize: 2 }));
const seen = new Set();
await new Promise((done, failed) => {
  for (const worker of workers) {
    worker.on("error", failed);
    worker.on("data", async (event) => {
      await worker.ack(event);
      seen.add(event.event.revision);
      if (seen.size === 10) done();
    });
  }
});
await Promise.all(workers.map((w) => w.unsubscribe()));
console.log(JSON.stringify({ read, category: inCategory, subscribed, defaults, shared: seen.size }));
await client.dispose();
