package outage

import (
	"errors"
	"net"
	"os"
	"time"
)

func (p *Proxy) listen(address string) error {
	l, err := new(net.ListenConfig).Listen(p.t.Context(), "tcp", address)
	if err != nil {
		return err
	}
	p.listener = l.(*net.TCPListener)
	p.running.Go(func() { p.accept(p.listener) })
	return nil
}

func (p *Proxy) accept(listener *net.TCPListener) {
	for {
		p.mu.Lock()
		kind, changed := p.kind, p.changed
		p.mu.Unlock()
		client, err := listener.AcceptTCP()
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			if kind == BlackHoled {
				<-changed
			}
		case err != nil:
			return
		default:
			p.connect(client)
		}
	}
}

func (p *Proxy) connect(client *net.TCPConn) {
	p.mu.Lock()
	target := p.target
	p.mu.Unlock()
	server, err := new(net.Dialer).DialContext(p.t.Context(), "tcp", target)
	if err != nil {
		_ = client.Close()
		return
	}
	l := &link{client: client, server: server.(*net.TCPConn), gone: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.accepted++
	p.links[l] = struct{}{}
	if p.kind == Reset || p.kind == Refused {
		p.drop(l, true)
		return
	}
	l.lost = p.kind == BlackHoled
	p.running.Go(func() { p.copy(l, l.server, l.client, false) })
	p.running.Go(func() { p.copy(l, l.client, l.server, true) })
}

// copy copies data in one direction, as far as the current outage allows.
func (p *Proxy) copy(l *link, to, from net.Conn, answers bool) {
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.drop(l, false)
	}()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			passes, alive := p.pass(l, answers)
			if !alive {
				return
			}
			if passes {
				if _, err := to.Write(buffer[:n]); err != nil {
					return
				}
			}
		}
		if err != nil {
			return
		}
	}
}

// The method pass() waits until data may pass. The result passes is false if the link
// loses its data. The result alive is false if the link was cut.
func (p *Proxy) pass(l *link, answer bool) (passes, alive bool) {
	delayed := false
	for {
		p.mu.Lock()
		kind, changed, delay, lost := p.kind, p.changed, p.delay, l.lost
		_, alive := p.links[l]
		p.mu.Unlock()
		switch {
		case !alive:
			return false, false
		case lost:
			return false, true
		case kind == Hung, kind == OneWay && answer:
			select {
			case <-changed:
			case <-l.gone:
			}
		case kind == Slow && !delayed:
			delayed = true
			wait(delay, changed, l.gone)
		default:
			return true, true
		}
	}
}

func wait(d time.Duration, changed, gone <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-changed:
	case <-gone:
	}
}
