//go:build recipe

// Command go uses the official Go client to read a stream and its category, to follow
// $all with two filters, and to share a persistent subscription.
//
//	go run -tags recipe ./docs/recipes/go 'esdb://127.0.0.1:2113?tls=false' match-…
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/google/uuid"
)

func main() {
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(address, stream string) error {
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
	read, err := count(ctx, client, stream, stream)
	if err != nil {
		return err
	}
	category, _, _ := strings.Cut(stream, "-")
	inCategory, err := count(ctx, client, "$ce-"+category, stream)
	if err != nil {
		return err
	}
	subscribed, err := subscribe(ctx, client, stream, read, &esdb.SubscriptionFilter{Type: esdb.StreamFilterType, Prefixes: []string{stream}})
	if err != nil {
		return err
	}
	defaults, err := subscribe(ctx, client, stream, read, esdb.ExcludeSystemEventsFilter())
	if err != nil {
		return err
	}
	shared, err := share(ctx, client, stream, read)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]int{"read": read, "category": inCategory, "subscribed": subscribed, "defaults": defaults, "shared": shared})
}

// count reads a stream, which may consist of links, and counts the events that are
// stored in the stream named by the parameter origin.
func count(ctx context.Context, client *esdb.Client, stream, origin string) (n int, err error) {
	events, err := client.ReadStream(ctx, stream, esdb.ReadStreamOptions{From: esdb.Start{}, ResolveLinkTos: true}, math.MaxUint64)
	if err != nil {
		return 0, err
	}
	defer events.Close()
	for {
		e, err := events.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return n, nil
		case err != nil:
			return n, err
		case e.Event.StreamID == origin:
			n++
		}
	}
}

// subscribe follows $all with a filter until it has seen the given number of events
// of a stream. A subscription on its own would never end: it waits for new events.
func subscribe(ctx context.Context, client *esdb.Client, stream string, stored int, filter *esdb.SubscriptionFilter) (n int, err error) {
	subscription, err := client.SubscribeToAll(ctx, esdb.SubscribeToAllOptions{From: esdb.Start{}, Filter: filter})
	if err != nil {
		return 0, err
	}
	defer subscription.Close()
	for n < stored {
		switch e := subscription.Recv(); {
		case e.SubscriptionDropped != nil:
			return n, e.SubscriptionDropped.Error
		case e.EventAppeared != nil:
			event := e.EventAppeared.OriginalEvent()
			if strings.HasPrefix(event.EventType, "$") {
				return n, fmt.Errorf("the filter selected %s", event.EventType)
			}
			if event.StreamID == stream {
				n++
			}
		}
	}
	return n, nil
}

// share lets two workers share a persistent subscription. The name of the group is
// new, because other clients may have groups too.
func share(ctx context.Context, client *esdb.Client, stream string, stored int) (n int, err error) {
	group := "workers-" + uuid.NewString()
	err = client.CreatePersistentSubscription(ctx, stream, group, esdb.PersistentStreamSubscriptionOptions{StartFrom: esdb.Start{}})
	if err != nil {
		return 0, err
	}
	defer func() {
		err = errors.Join(err, client.DeletePersistentSubscription(ctx, stream, group, esdb.DeletePersistentSubscriptionOptions{}))
	}()
	done, failed := make(chan bool, stored), make(chan error, 2)
	for range 2 {
		worker, err := client.SubscribeToPersistentSubscription(ctx, stream, group, esdb.SubscribeToPersistentSubscriptionOptions{BufferSize: 2})
		if err != nil {
			return 0, err
		}
		defer worker.Close()
		go work(worker, done, failed)
	}
	for n < stored {
		select {
		case <-done:
			n++
		case err := <-failed:
			return n, err
		}
	}
	return n, nil
}

// work acknowledges each event that a worker receives.
func work(worker *esdb.PersistentSubscription, done chan<- bool, failed chan<- error) {
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
}
