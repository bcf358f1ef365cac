package nodecmd

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/alecthomas/kong"

	"hexarena/cmd/arena/progress"
	"hexarena/eventstore/node/storage"
)

// checkCmd implements `arena node check`, which reads the whole folder of a
// stopped node and reports damage.
type checkCmd struct {
	Dir string `arg:"" help:"A node's data folder, or a backup of such a folder. The command does not write to it."`
}

// Run runs `arena node check`.
func (c checkCmd) Run(ctx context.Context, k *kong.Kong) error {
	p := progress.New(k.Stderr, "bytes")
	found, err := storage.Check(ctx, c.Dir, nil, p.Show)
	p.Finish()
	switch {
	case ctx.Err() != nil:
		return errors.New("stopped before the end")
	case err != nil:
		return err
	}
	printChecked(k.Stdout, found)
	if found.Damages > 0 {
		return fmt.Errorf("%s is damaged (findings: %d), first: %s", c.Dir, found.Damages, found.Named[0])
	}
	return nil
}

func printChecked(w io.Writer, c storage.Checked) {
	how := "the log was not closed"
	if c.Sealed {
		how = "the log was closed, and its files have not changed since"
	}
	fmt.Fprintf(w, "format version %s; %s\n", c.Format, how)
	fmt.Fprintf(w, "%d events, %d bytes, in %d streams, %d of them tombstoned; events of %d streams were scavenged\n",
		c.Events, c.Bytes, c.Streams, c.Tombstones, c.Scavenged)
	if c.Unread > 0 {
		fmt.Fprintf(w, "%d metadata events are malformed, and hide no events\n", c.Unread)
	}
	if c.Damages == 0 {
		fmt.Fprintln(w, "every record, the order of positions and revisions, and the index are correct")
		return
	}
	for _, damage := range c.Named {
		fmt.Fprintln(w, "damaged:", damage)
	}
	if more := c.Damages - uint64(len(c.Named)); more > 0 {
		fmt.Fprintf(w, "damaged: and %d more\n", more)
	}
}
