package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"hexarena/cmd/arena/progress"
	"hexarena/eventstore/node"
)

// nodeCheck is `arena node check`: it reads the whole folder of a stopped node.
type nodeCheck struct {
	Dir string `arg:"" help:"The node's data folder, or a backup of one. Nothing is written to it."`
}

// Run runs `arena node check`.
func (c nodeCheck) Run(ctx context.Context, s streams) error {
	p := progress.New(s.err, "bytes")
	found, err := node.Check(ctx, c.Dir, nil, p.Show)
	p.Finish()
	switch {
	case ctx.Err() != nil:
		return errors.New("stopped before the end")
	case err != nil:
		return err
	}
	tellChecked(s.out, found)
	if found.Damages > 0 {
		return fmt.Errorf("%s is damaged (findings: %d), first: %s", c.Dir, found.Damages, found.Named[0])
	}
	return nil
}

func tellChecked(w io.Writer, c node.Checked) {
	how := "its node was not closed"
	if c.Sealed {
		how = "it was closed, and its files are as they were then"
	}
	fmt.Fprintf(w, "format version %s; %s\n", c.Format, how)
	fmt.Fprintf(w, "%d events, %d bytes, in %d streams, %d of them tombstoned; of %d streams events were scavenged\n",
		c.Events, c.Bytes, c.Streams, c.Tombstones, c.Scavenged)
	if c.Unread > 0 {
		fmt.Fprintf(w, "%d metadata events are not as metadata should be, and hide nothing\n", c.Unread)
	}
	if c.Damages == 0 {
		fmt.Fprintln(w, "every record, the order of positions and revisions, and the index are as they should be")
		return
	}
	for _, damage := range c.Named {
		fmt.Fprintln(w, "damaged:", damage)
	}
	if more := c.Damages - uint64(len(c.Named)); more > 0 {
		fmt.Fprintf(w, "damaged: and %d more\n", more)
	}
}
