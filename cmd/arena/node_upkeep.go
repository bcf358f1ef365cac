package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"

	"hexarena/cmd/arena/progress"
	"hexarena/eventstore/node"
)

// nodeBackup is `arena node backup`: it copies a running node's log.
type nodeBackup struct {
	Admin  string `required:"" placeholder:"URL" help:"The operators' endpoints of the node, or of the arena that it runs in."`
	Target string `arg:"" help:"Folder on the node's machine, empty or not there yet."`
}

// Run runs `arena node backup`.
func (c nodeBackup) Run(ctx context.Context, s streams) error {
	target, err := filepath.Abs(c.Target)
	if err != nil {
		return err
	}
	order, err := json.Marshal(node.BackupOrder{Target: target})
	if err != nil {
		return err
	}
	answer, err := postAdmin(ctx, c.Admin, node.BackupPath, order)
	if err != nil {
		return err
	}
	defer answer.Close()
	var done node.BackedUp
	if err := json.NewDecoder(answer).Decode(&done); err != nil {
		return fmt.Errorf("--admin: %w", err)
	}
	fmt.Fprintf(s.out, "copied to %s: the log up to position %d, %d bytes\n", done.Target, done.Position, done.Bytes)
	return nil
}

// nodeScavenge is `arena node scavenge`: it removes from a running node's disk
// what is hidden.
type nodeScavenge struct {
	Admin string `required:"" placeholder:"URL" help:"The operators' endpoints of the node, or of the arena that it runs in."`
}

// Run runs `arena node scavenge`.
func (c nodeScavenge) Run(ctx context.Context, s streams) error {
	answer, err := postAdmin(ctx, c.Admin, node.ScavengePath, nil)
	if err != nil {
		return err
	}
	defer answer.Close()
	p := progress.New(s.err, "events")
	done, err := followScavenge(json.NewDecoder(answer), p.Show)
	p.Finish()
	switch {
	case ctx.Err() != nil:
		return errors.New("stopped: the same command goes on from here")
	case err != nil:
		return err
	}
	fmt.Fprintf(s.out, "removed %d events, %d bytes, of %d streams; they are in no file of the log any more\n", done.Events, done.Bytes, done.Streams)
	return nil
}

// followScavenge reads what the node tells until it is done.
func followScavenge(lines *json.Decoder, tell node.Progress) (node.Scavenged, error) {
	for {
		var told node.Told
		switch err := lines.Decode(&told); {
		case err != nil:
			return node.Scavenged{}, fmt.Errorf("the node left before it was done: %w", err)
		case told.Error != "":
			return node.Scavenged{}, errors.New(told.Error)
		case told.Done != nil:
			return *told.Done, nil
		}
		tell(told.Step, told.At, told.Of)
	}
}

// maxRefusal is how much of a refusal is read.
const maxRefusal = 4 << 10

// postAdmin calls an operators' endpoint, and returns its answer if that is not
// a refusal.
func postAdmin(ctx context.Context, base, path string, body []byte) (io.ReadCloser, error) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("--admin %q: want http://host:port", base)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, u.JoinPath(path).String(), bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("--admin: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	client := &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true}, // no proxy
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	answer, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("--admin: %w", err)
	}
	if answer.StatusCode == http.StatusOK {
		return answer.Body, nil
	}
	defer answer.Body.Close()
	why, _ := io.ReadAll(io.LimitReader(answer.Body, maxRefusal)) // what can be read says enough
	return nil, fmt.Errorf("--admin: %s: %s", answer.Status, strings.Join(strings.Fields(string(why)), " "))
}
