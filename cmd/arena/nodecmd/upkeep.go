package nodecmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"

	"github.com/alecthomas/kong"

	"hexarena/adapters/client"
	"hexarena/cmd/arena/progress"
	"hexarena/eventstore/node"
	"hexarena/eventstore/node/storage"
)

// runningNode holds the flag of the commands that work on a running node.
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
	answer, err := c.post(ctx, node.BackupPath, node.BackupOrder{Target: target})
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
	fmt.Fprintf(k.Stdout, "removed %d events, %d bytes, of %d streams; no file of the log contains them any more\n", done.Events, done.Bytes, done.Streams)
	return nil
}

// followScavenge reads the node's progress reports until it is done.
func followScavenge(lines *json.Decoder, show storage.Progress) (storage.Scavenged, error) {
	for {
		var line node.ScavengeLine
		switch err := lines.Decode(&line); {
		case err != nil:
			return storage.Scavenged{}, fmt.Errorf("the node stopped responding before the scavenge was complete: %w", err)
		case line.Error != "":
			return storage.Scavenged{}, errors.New(line.Error)
		case line.Done != nil:
			return *line.Done, nil
		}
		show(line.Step, line.At, line.Of)
	}
}

// post calls one of the operators' endpoints. The caller closes the response.
func (r runningNode) post(ctx context.Context, path string, order any) (io.ReadCloser, error) {
	c, err := client.New(client.Options{Base: r.Admin})
	if err != nil {
		return nil, fmt.Errorf("--admin %w", err)
	}
	answer, err := c.Open(ctx, http.MethodPost, path, order)
	if err != nil {
		return nil, fmt.Errorf("--admin: %w", err)
	}
	return answer.Body, nil
}
