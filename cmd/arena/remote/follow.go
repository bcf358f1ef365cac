package remote

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"hexarena/adapters/client"
	"hexarena/projections/health"
)

type followCmd struct {
	signed
	Exec     string `placeholder:"COMMAND" help:"Instead of printing, run this command with sh for each event. Its input is the event as JSON; the variables ARENA_EVENT_ID and ARENA_EVENT_TYPE are set. It needs --position."`
	Position string `placeholder:"FILE" help:"File that names the latest handled event. The command continues after this event, and updates the file after each event."`
	All      bool   `help:"If the --position file names no event, begin with the oldest event that the arena keeps."`
}

// Run runs `arena follow`. It ends only with an error, or when ctx ends.
func (c followCmd) Run(ctx context.Context, s *session, k *kong.Kong) error {
	if c.Exec != "" && c.Position == "" {
		return errors.New("--exec needs --position FILE, so that the command runs for every event, even after a restart")
	}
	f := subscriber{eventStream: eventStream{session: s, path: "/me/events", errors: k.Stderr}, followCmd: c, output: k.Stdout}
	err := f.load()
	wait := firstRetry
	for err == nil && ctx.Err() == nil {
		before := f.handled
		broken := f.read(ctx, f.handle)
		if f.handled > before {
			wait = firstRetry
		}
		err = f.pause(ctx, "the stream ended", broken, &wait)
	}
	if ctx.Err() != nil {
		return nil //nolint:nilerr // the user stopped the command
	}
	return err
}

// subscriber reads an owner's events, and handles each of them at least once.
type subscriber struct {
	eventStream // last is the id of the last event that was handled
	followCmd
	output  io.Writer // of the command
	handled int       // how many ids were stored
}

// position is the content of the file that --position names.
type position struct {
	Arena  string `json:"arena"`
	LastID string `json:"lastId"`
}

// load reads the position.
func (f *subscriber) load() error {
	if f.All {
		f.last = health.ID{}.String()
	}
	if f.Position == "" {
		return nil
	}
	text, err := os.ReadFile(f.Position)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("--position: %w", err)
	}
	var p position
	if err := json.Unmarshal(text, &p); err != nil || p.LastID == "" {
		return fmt.Errorf("--position %s does not contain a position of arena follow: name another file, or remove it", f.Position)
	}
	if p.Arena != f.base {
		return fmt.Errorf("--position %s belongs to the arena %s, not to %s: name another file", f.Position, p.Arena, f.base)
	}
	f.last = p.LastID
	return nil
}

// store remembers that all events up to an id were handled.
func (f *subscriber) store(id string) error {
	f.last = id
	f.handled++
	if f.Position == "" {
		return nil
	}
	text, err := json.Marshal(position{f.base, id})
	if err == nil {
		err = ReplaceFile(f.Position, append(text, '\n'))
	}
	if err != nil {
		return &fatal{fmt.Errorf("--position: %w", err)}
	}
	return nil
}

// handle prints an event or runs the command for it, and stores its id. A record
// without data only names the position at which the stream begins.
func (f *subscriber) handle(ctx context.Context, r record) error {
	switch {
	case r.id == "":
		return nil
	case r.data == "":
	case f.Exec != "":
		if err := f.run(ctx, r); err != nil {
			return err
		}
	case f.json:
		fmt.Fprintln(f.out, r.data)
	default:
		var e health.Event
		if err := json.Unmarshal([]byte(r.data), &e); err != nil {
			return &fatal{fmt.Errorf("this program cannot read the event %s: %w", client.OneLine(r.id), err)}
		}
		f.print(f.out, e)
	}
	return f.store(r.id)
}

// run runs the command for an event until it succeeds.
func (f *subscriber) run(ctx context.Context, r record) error {
	wait := firstRetry
	for {
		command := exec.CommandContext(ctx, "sh", "-c", f.Exec)
		command.Env = append(os.Environ(), "ARENA_EVENT_ID="+r.id, "ARENA_EVENT_TYPE="+r.event)
		command.Stdin = strings.NewReader(r.data + "\n")
		command.Stdout, command.Stderr = f.output, f.errors
		err := command.Run()
		if err == nil || ctx.Err() != nil {
			return cmp.Or(ctx.Err(), err)
		}
		if err := f.pause(ctx, "", fmt.Errorf("--exec failed for the event %s: %w", r.id, err), &wait); err != nil {
			return err
		}
	}
}

// print prints an event as one line.
func (f *subscriber) print(w io.Writer, e health.Event) {
	words := []string{minuteOf(e.At), e.Type, client.OneLine(e.BotName)}
	switch {
	case e.Placement > 0:
		words = append(words, "placement "+strconv.Itoa(e.Placement))
	case e.Error != nil:
		words = append(words, client.OneLine(e.Error.Message)+" ("+e.Error.Code+")")
	case e.By != "":
		words = append(words, "by "+e.By)
	}
	if e.Reason != "" {
		words = append(words, client.OneLine(e.Reason))
	}
	if e.Outcome != "" {
		words = append(words, e.Outcome)
	}
	if e.Missed {
		words = append(words, "missed")
	}
	if e.MatchID != "" {
		words = append(words, f.base+"/watch/"+e.MatchID)
	}
	fmt.Fprintln(w, strings.Join(words, "  "))
}
