package nodecmd

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

	"github.com/alecthomas/kong"

	"hexarena/cmd/arena/progress"
	"hexarena/eventstore/node"
	"hexarena/eventstore/node/storage"
)

// runningNode is the flag of commands for a running node.
type runningNode struct {
	Admin string `required:"" placeholder:"URL" help:"The operators' endpoints of the node, or of its arena."`
}

// backupCmd is `arena node backup`.
type backupCmd struct {
	runningNode
	Target string `arg:"" help:"Folder on the node's machine; it must be empty or not exist."`
}

// Run runs `arena node backup`.
func (c backupCmd) Run(ctx context.Context, k *kong.Kong) error {
	target, err := filepath.Abs(c.Target)
	if err != nil {
		return err
	}
	order, err := json.Marshal(node.BackupOrder{Target: target})
	if err != nil {
		return err
	}
	answer, err := c.post(ctx, node.BackupPath, order)
	if err != nil {
		return err
	}
	defer answer.Close()
	var done node.BackedUp
	if err := json.NewDecoder(answer).Decode(&done); err != nil {
		return fmt.Errorf("--admin: %w", err)
	}
	fmt.Fprintf(k.Stdout, "copied to %s: the log up to position %d, %d bytes\n", done.Target, done.Position, done.Bytes)
	return nil
}

// scavengeCmd is `arena node scavenge`.
type scavengeCmd struct{ runningNode }

// Run runs `arena node scavenge`.
func (c scavengeCmd) Run(ctx context.Context, k *kong.Kong) error {
	answer, err := c.post(ctx, node.ScavengePath, nil)
	if err != nil {
		return err
	}
	defer answer.Close()
	p := progress.New(k.Stderr, "events")
	done, err := followScavenge(json.NewDecoder(answer), p.Show)
	p.Finish()
	switch {
	case ctx.Err() != nil:
		return errors.New("stopped: run the same command again to continue")
	case err != nil:
		return err
	}
	fmt.Fprintf(k.Stdout, "removed %d events, %d bytes, of %d streams; no file of the log holds them any more\n", done.Events, done.Bytes, done.Streams)
	return nil
}

// followScavenge reads the node's progress reports until it is done.
func followScavenge(lines *json.Decoder, show storage.Progress) (storage.Scavenged, error) {
	for {
		var line node.ScavengeLine
		switch err := lines.Decode(&line); {
		case err != nil:
			return storage.Scavenged{}, fmt.Errorf("the node stopped answering before it was done: %w", err)
		case line.Error != "":
			return storage.Scavenged{}, errors.New(line.Error)
		case line.Done != nil:
			return *line.Done, nil
		}
		show(line.Step, line.At, line.Of)
	}
}

// maxRefusal bounds how much of a refusal is printed, in bytes.
const maxRefusal = 4 << 10

// post calls an operators' endpoint. An answer other than 200 is an error.
func (r runningNode) post(ctx context.Context, path string, body []byte) (io.ReadCloser, error) {
	u, err := url.Parse(r.Admin)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("--admin %q: want http://host:port", r.Admin)
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
	why, _ := io.ReadAll(io.LimitReader(answer.Body, maxRefusal)) // part of the reason is enough
	return nil, fmt.Errorf("--admin: %s: %s", answer.Status, strings.Join(strings.Fields(string(why)), " "))
}
