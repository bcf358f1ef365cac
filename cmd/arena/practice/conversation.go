package practice

import (
	"context"
	"errors"
	"sync"
	"time"

	"hexarena/adapters/referee"
	"hexarena/domain/match"
)

// conversation sends requests to a bot, one after another. Like the referee, it ignores
// answers to earlier requests.
type conversation struct {
	line    referee.Line
	answers chan reply    // the answer to the open request
	dropped chan struct{} // closed when the connection has ended

	mu    sync.Mutex // guards the fields below
	open  int        // the id of the open request; 0 if no request is open
	asked map[int]bool
}

// reply is what a bot sent: a frame, or the cause why it has no answer (match.Cause…).
type reply struct {
	frame []byte
	cause string
}

func newConversation() *conversation {
	return &conversation{answers: make(chan reply, 1), dropped: make(chan struct{}), asked: map[int]bool{}}
}

// receive handles data from the bot. It does not block: only one answer to each request
// enters the channel.
func (c *conversation) receive(frame []byte, cause string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cause == match.CauseDropped {
		close(c.dropped)
		return
	}
	if c.open == 0 {
		return
	}
	closed := func(id int) bool { return id != c.open && c.asked[id] }
	if cause == "" && match.IsLate(frame, closed) {
		return
	}
	c.open = 0
	c.answers <- reply{frame, cause}
}

// ask sends a request and waits for the answer. The cause of the reply is
// match.CauseDeadline if no answer arrives in time.
func (c *conversation) ask(ctx context.Context, id int, request []byte, wait time.Duration) (reply, error) {
	c.setOpen(id)
	defer c.setOpen(0)
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	if err := c.line.Send(waiting, request); err != nil && waiting.Err() == nil {
		return reply{}, c.fault(err)
	}
	select {
	case r := <-c.answers:
		return r, nil
	case <-c.dropped:
	case <-waiting.Done():
		c.line.Drain(ctx) // an answer may have reached the socket just in time
	}
	select {
	case r := <-c.answers:
		return r, nil
	default:
	}
	select {
	case <-c.dropped:
		return reply{}, c.fault(errDropped)
	default:
		return reply{cause: match.CauseDeadline}, ctx.Err()
	}
}

func (c *conversation) setOpen(id int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open = id; id != 0 {
		c.asked[id] = true
	} else {
		select { // an answer that came after the deadline
		case <-c.answers:
		default:
		}
	}
}

// fault returns why the line ended, or err if that is unknown.
func (c *conversation) fault(err error) error {
	if f := c.line.Fault(); f != nil {
		return errors.New(f.Message)
	}
	return err
}

var errDropped = errors.New("the bot ended the connection")
