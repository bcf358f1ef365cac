//! Appends, reads, subscribes with a filter, and shares a persistent
//! subscription, with the official Rust client.
//!
//!     cargo run -- 'esdb://127.0.0.1:2113?tls=false'

use eventstore::{
    AppendToStreamOptions, Client, EventData, ExpectedRevision, PersistentSubscriptionOptions, ReadStreamOptions, StreamPosition, SubscribeToAllOptions, SubscriptionFilter,
};
use serde_json::json;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).expect("the address of a node");
    let client = Client::new(address.parse()?)?;
    let category = format!("recipe{}", uuid::Uuid::new_v4().simple());
    let stream = format!("{category}-1");

    let events: Vec<EventData> = (0..10).map(|n| EventData::json("Counted", &json!({ "n": n })).unwrap()).collect();
    let options = AppendToStreamOptions::default().expected_revision(ExpectedRevision::NoStream);
    client.append_to_stream(stream.as_str(), &options, events).await?;

    let mut read = 0;
    let mut all = client.read_stream(stream.as_str(), &ReadStreamOptions::default().position(StreamPosition::Start)).await?;
    while let Some(event) = all.next().await? {
        assert_eq!(event.get_original_event().as_json::<serde_json::Value>()?["n"], read);
        read += 1;
    }

    let mut subscribed = 0;
    let filter = SubscriptionFilter::on_stream_name().add_prefix(&stream);
    let options = SubscribeToAllOptions::default().filter(filter).position(StreamPosition::Start);
    let mut subscription = client.subscribe_to_all(&options).await;
    while subscribed < 10 {
        subscription.next().await?;
        subscribed += 1;
    }

    let options = PersistentSubscriptionOptions::default();
    client.create_persistent_subscription(stream.as_str(), "workers", &options.start_from(StreamPosition::Start)).await?;
    let mut worker = client.subscribe_to_persistent_subscription(stream.as_str(), "workers", &Default::default()).await?;
    let mut shared = 0;
    while shared < 10 {
        let event = worker.next().await?;
        worker.ack(event).await?;
        shared += 1;
    }
    println!("{}", json!({ "read": read, "subscribed": subscribed, "shared": shared }));
    Ok(())
}
