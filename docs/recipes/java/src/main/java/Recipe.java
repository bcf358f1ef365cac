import com.eventstore.dbclient.*;
import java.util.*;
import java.util.concurrent.*;

/**
 * Uses the official Java client to read a stream, to follow $all with a filter, and
 * to share a persistent subscription. The arguments are a connection string and the
 * name of a stream, for example match-….
 */
public class Recipe {
    public static void main(String[] args) throws Exception {
        EventStoreDBClientSettings settings = EventStoreDBConnectionString.parseOrThrow(args[0]);
        EventStoreDBClient client = EventStoreDBClient.create(settings);
        String stream = args[1];

        int read = client.readStream(stream, ReadStreamOptions.get().fromStart()).get().getEvents().size();

        CountDownLatch subscribed = new CountDownLatch(read);
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
        String group = "workers-" + UUID.randomUUID(); // other clients may have groups too
        workers.createToStream(stream, group, CreatePersistentSubscriptionToStreamOptions.get().fromStart()).get();
        CountDownLatch shared = new CountDownLatch(read);
        PersistentSubscription worker = workers.subscribeToStream(stream, group, new PersistentSubscriptionListener() {
            @Override
            public void onEvent(PersistentSubscription s, int retries, ResolvedEvent e) {
                s.ack(e);
                shared.countDown();
            }
        }).get();
        shared.await(10, TimeUnit.SECONDS);
        worker.stop();
        workers.deleteToStream(stream, group).get();
        System.out.printf("{\"read\":%d,\"subscribed\":%d,\"shared\":%d}%n", read, read - subscribed.getCount(), read - shared.getCount());
        workers.shutdown().get();
        client.shutdown().get();
        System.exit(0);
    }
}
