//go:build recipe

// Command go appends, reads, subscribes with a filter, and shares a persistent
// subscription, with the official Go client.
//
//	go run -tags recipe ./docs/recipes/go 'esdb://127.0.0.1:2113?tls=false'
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/google/uuid"
)

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(address string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	settings, err := esdb.ParseConnectionString(address)
	if err != nil {
		return err
	}
	settings.Logger = esdb.NoopLogging()
	client, err := esdb.NewClient(settings)
	if err != nil {
		return err
	}
	defer client.Close()
	category := "recipe" + strings.ReplaceAll(uuid.NewString(), "-", "")
	stream := category + "-1"

	var events []esdb.EventData
	for n := range 10 {
		events = append(events, esdb.EventData{EventID: uuid.New(), EventType: "Counted", ContentType: esdb.ContentTypeJson, Data: fmt.Appendf(nil, `{"n":%d}`, n)})
	}
	if _, err := client.AppendToStream(ctx, stream, esdb.AppendToStreamOptions{ExpectedRevision: esdb.NoStream{}}, events...); err != nil {
		return err
	}
	read, err := count(client.ReadStream(ctx, stream, esdb.ReadStreamOptions{From: esdb.Start{}}, 100))
	if err != nil {
		return err
	}
	inCategory, err := count(client.ReadStream(ctx, "$ce-"+category, esdb.ReadStreamOptions{From: esdb.Start{}, ResolveLinkTos: true}, 100))
	if err != nil {
		return err
	}
	subscribed, err := subscribe(ctx, client, &esdb.SubscriptionFilter{Type: esdb.StreamFilterType, Prefixes: []string{stream}})
	if err != nil {
		return err
	}
	defaults, err := subscribe(ctx, client, esdb.ExcludeSystemEventsFilter())
	if err != nil {
		return err
	}
	shared, err := share(ctx, client, stream)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]int{"read": read, "category": inCategory, "subscribed": subscribed, "defaults": defaults, "shared": shared})
}

func count(events *esdb.ReadStream, err error) (n int, _ error) {
	if err != nil {
		return 0, err
	}
	defer events.Close()
	for _, err = events.Recv(); err == nil; _, err = events.Recv() {
		n++
	}
	return n, nil
}

// subscribe reads the stored events that a filter selects. It would continue with new
// ones.
func subscribe(ctx context.Context, client *esdb.Client, filter *esdb.SubscriptionFilter) (n int, err error) {
	subscription, err := client.SubscribeToAll(ctx, esdb.SubscribeToAllOptions{From: esdb.Start{}, Filter: filter})
	if err != nil {
		return 0, err
	}
	defer subscription.Close()
	for n < 10 {
		switch e := subscription.Recv(); {
		case e.SubscriptionDropped != nil:
			return n, e.SubscriptionDropped.Error
		case e.EventAppeared != nil:
			if kind := e.EventAppeared.OriginalEvent().EventType; kind != "Counted" {
				return n, fmt.Errorf("the filter selected %s", kind)
			}
			n++
		}
	}
	return n, nil
}

// share lets two workers share a persistent subscription.
func share(ctx context.Context, client *esdb.Client, stream string) (n int, err error) {
	err = client.CreatePersistentSubscription(ctx, stream, "workers", esdb.PersistentStreamSubscriptionOptions{StartFrom: esdb.Start{}})
	if err != nil {
		return 0, err
	}
	done, failed := make(chan bool, 100), make(chan error, 2)
	for range 2 {
		worker, err := client.SubscribeToPersistentSubscription(ctx, stream, "workers", esdb.SubscribeToPersistentSubscriptionOptions{BufferSize: 2})
		if err != nil {
			return 0, err
		}
		defer worker.Close()
		go func() {
			for {
				switch e := worker.Recv(); {
				case e.SubscriptionDropped != nil:
					failed <- e.SubscriptionDropped.Error
					return
				case e.EventAppeared != nil:
					if err := worker.Ack(e.EventAppeared.Event); err != nil {
						failed <- err
						return
					}
					done <- true
				}
			}
		}()
	}
	for n < 10 {
		select {
		case <-done:
			n++
		case err := <-failed:
			return n, err
		}
	}
	return n, nil
}
