//! Uses the official Rust client to read a stream, to follow $all with a filter, and
//! to share a persistent subscription.
//!
//!     cargo run -- 'esdb://127.0.0.1:2113?tls=false' match-…

use eventstore::{Client, PersistentSubscriptionOptions, ReadStreamOptions, StreamPosition, SubscribeToAllOptions, SubscriptionFilter};
use serde_json::json;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let address = args.next().expect("the first argument is the address of a node");
    let stream = args.next().expect("the second argument is the name of a stream");
    let client = Client::new(address.parse()?)?;

    let mut read = 0;
    let mut all = client.read_stream(stream.as_str(), &ReadStreamOptions::default().position(StreamPosition::Start)).await?;
    while let Some(event) = all.next().await? {
        assert_eq!(event.get_original_event().revision, read);
        read += 1;
    }

    let mut subscribed = 0;
    let filter = SubscriptionFilter::on_stream_name().add_prefix(&stream);
    let options = SubscribeToAllOptions::default().filter(filter).position(StreamPosition::Start);
    let mut subscription = client.subscribe_to_all(&options).await;
    while subscribed < read {
        subscription.next().await?;
        subscribed += 1;
    }

    let options = PersistentSubscriptionOptions::default();
    let group = format!("workers-{}", uuid::Uuid::new_v4()); // other clients may have groups too
    client.create_persistent_subscription(stream.as_str(), &group, &options.start_from(StreamPosition::Start)).await?;
    let mut worker = client.subscribe_to_persistent_subscription(stream.as_str(), &group, &Default::default()).await?;
    let mut shared = 0;
    while shared < read {
        let event = worker.next().await?;
        worker.ack(event).await?;
        shared += 1;
    }
    client.delete_persistent_subscription(stream.as_str(), &group, &Default::default()).await?;
    println!("{}", json!({ "read": read, "subscribed": subscribed, "shared": shared }));
    Ok(())
}
