package remote

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"hexarena/adapters/client"
	"hexarena/domain/owner"
	"hexarena/eventstore"
	"hexarena/projections/health"
)

type followCmd struct {
	signed
	Exec     string `placeholder:"COMMAND" help:"Instead of printing, run this command with sh for each event. Its input is the event as JSON; the variables ARENA_EVENT_ID and ARENA_EVENT_TYPE are set. It needs --position."`
	Position string `placeholder:"FILE" help:"Continue after the event that this file names, and store each event that was handled in it."`
	All      bool   `help:"Begin with the oldest event that the arena keeps, if the file names no event."`
}

const (
	// quietTime is how long a stream may send nothing. The arena sends a comment every
	// 15 s, so a longer silence means that the connection is dead.
	quietTime = 60 * time.Second
	// maxEventLine is the maximum length of a line of a stream, in bytes.
	maxEventLine = 1 << 20
	// firstRetry and lastRetry limit the wait before the next try, which doubles.
	firstRetry = time.Second
	lastRetry  = 30 * time.Second
)

// Run runs `arena follow`. It ends only with an error, or when ctx ends.
func (c followCmd) Run(ctx context.Context, s *session, k *kong.Kong) error {
	if c.Exec != "" && c.Position == "" {
		return errors.New("--exec needs --position FILE, so that the command runs for every event, even after a restart")
	}
	f := subscriber{session: s, followCmd: c, kong: k}
	err := f.load()
	wait := firstRetry
	for err == nil && ctx.Err() == nil {
		before := f.handled
		broken := f.read(ctx)
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

var errQuiet = fmt.Errorf("the arena sent nothing for %s", quietTime)

// subscriber reads an owner's events, and handles each of them at least once.
type subscriber struct {
	*session
	followCmd
	kong    *kong.Kong
	last    string // id of the last event that was handled; empty: none
	handled int    // how many ids were stored
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

// fatal is an error that another try cannot repair.
type fatal struct{ error }

// pause waits before the next try, longer each time. It returns an error if another try
// cannot help.
func (f *subscriber) pause(ctx context.Context, what string, err error, wait *time.Duration) error {
	var end *fatal
	var refusal *client.Refusal
	after := *wait
	switch {
	case errors.As(err, &end):
		return end.error
	case errors.As(err, &refusal):
		if refusal.Status < http.StatusInternalServerError && refusal.Status != http.StatusTooManyRequests {
			return f.explained(err)
		}
		if seconds, bad := strconv.Atoi(refusal.RetryAfter); bad == nil {
			after = max(after, time.Duration(seconds)*time.Second)
		}
	}
	if ctx.Err() == nil {
		fmt.Fprintf(f.kong.Stderr, "%s; trying again in %s\n", cmp.Or(textOf(err), what), after)
	}
	*wait = min(2**wait, lastRetry)
	_ = eventstore.Sleep(ctx, after) // the caller checks ctx
	return nil
}

func textOf(err error) string {
	if err == nil {
		return ""
	}
	return client.OneLine(err.Error())
}

// read reads one stream until it breaks or ends.
func (f *subscriber) read(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	quiet := time.AfterFunc(quietTime, func() { cancel(errQuiet) })
	defer quiet.Stop()
	response, err := f.open(ctx)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, maxEventLine)
	var id, data string
	for lines.Scan() {
		quiet.Stop() // the command may take longer
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch {
		case name == "id":
			id = value
		case name == "data":
			data = value
		case name == "" && id != "":
			if err := f.handle(ctx, id, data); err != nil {
				return err
			}
			id, data = "", ""
		}
		quiet.Reset(quietTime)
	}
	return cmp.Or(context.Cause(ctx), lines.Err())
}

func (f *subscriber) open(ctx context.Context) (*http.Response, error) {
	credentials, err := f.credentials(owner.BotsRead)
	if err != nil {
		return nil, &fatal{err}
	}
	credentials.Base = f.base
	if f.last != "" {
		credentials.Header = http.Header{"Last-Event-Id": {f.last}}
	}
	c, err := client.New(credentials)
	if err != nil {
		return nil, &fatal{err}
	}
	return c.Open(ctx, http.MethodGet, "/me/events", nil)
}

// handle prints an event or runs the command for it, and stores its id. A record
// without data only names the position at which the stream begins.
func (f *subscriber) handle(ctx context.Context, id, data string) error {
	switch {
	case data == "":
	case f.Exec != "":
		if err := f.run(ctx, id, data); err != nil {
			return err
		}
	case f.json:
		fmt.Fprintln(f.out, data)
	default:
		var e health.Event
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			return &fatal{fmt.Errorf("this program cannot read the event %s: %w", client.OneLine(id), err)}
		}
		f.print(f.out, e)
	}
	return f.store(id)
}

// run runs the command for an event until it succeeds.
func (f *subscriber) run(ctx context.Context, id, data string) error {
	var e health.Event
	_ = json.Unmarshal([]byte(data), &e) // an event of an unknown shape has no type
	wait := firstRetry
	for {
		command := exec.CommandContext(ctx, "sh", "-c", f.Exec)
		command.Env = append(os.Environ(), "ARENA_EVENT_ID="+id, "ARENA_EVENT_TYPE="+e.Type)
		command.Stdin = bytes.NewReader([]byte(data + "\n"))
		command.Stdout, command.Stderr = f.kong.Stdout, f.kong.Stderr
		err := command.Run()
		if err == nil || ctx.Err() != nil {
			return cmp.Or(ctx.Err(), err)
		}
		if err := f.pause(ctx, "", fmt.Errorf("--exec failed for the event %s: %w", id, err), &wait); err != nil {
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
