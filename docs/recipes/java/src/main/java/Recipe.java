import com.eventstore.dbclient.*;
import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.concurrent.*;

/**
 * Appends, reads, subscribes with a filter, and shares a persistent
 * subscription, with the official Java client.
 */
public class Recipe {
    public static void main(String[] args) throws Exception {
        EventStoreDBClientSettings settings = EventStoreDBConnectionString.parseOrThrow(args[0]);
        EventStoreDBClient client = EventStoreDBClient.create(settings);
        String stream = "recipe" + UUID.randomUUID().toString().replace("-", "") + "-1";

        List<EventData> events = new ArrayList<>();
        for (int n = 0; n < 10; n++) {
            events.add(EventData.builderAsJson("Counted", ("{\"n\":" + n + "}").getBytes(StandardCharsets.UTF_8)).build());
        }
        client.appendToStream(stream, AppendToStreamOptions.get().expectedRevision(ExpectedRevision.noStream()), events.iterator()).get();

        int read = client.readStream(stream, ReadStreamOptions.get().fromStart()).get().getEvents().size();

        CountDownLatch subscribed = new CountDownLatch(10);
        SubscriptionFilter filter = SubscriptionFilter.newBuilder().addStreamNamePrefix(stream).build();
        Subscription subscription = client.subscribeToAll(new SubscriptionListener() {
            @Override
            public void onEvent(Subscription s, ResolvedEvent e) {
                subscribed.countDown();
            }
        }, SubscribeToAllOptions.get().fromStart().filter(filter)).get();
        subscribed.await(10, TimeUnit.SECONDS);
        subscription.stop();

        EventStoreDBPersistentSubscriptionsClient workers = EventStoreDBPersistentSubscriptionsClient.create(settings);
        workers.createToStream(stream, "workers", CreatePersistentSubscriptionToStreamOptions.get().fromStart()).get();
        CountDownLatch shared = new CountDownLatch(10);
        PersistentSubscription worker = workers.subscribeToStream(stream, "workers", new PersistentSubscriptionListener() {
            @Override
            public void onEvent(PersistentSubscription s, int retries, ResolvedEvent e) {
                s.ack(e);
                shared.countDown();
            }
        }).get();
        shared.await(10, TimeUnit.SECONDS);
        worker.stop();
        System.out.printf("{\"read\":%d,\"subscribed\":%d,\"shared\":%d}%n", read, 10 - subscribed.getCount(), 10 - shared.getCount());
        workers.shutdown().get();
        client.shutdown().get();
        System.exit(0);
    }
}
