//go:build !unix

package outage

import (
	"errors"
	"net"
)

func setBacklog(*net.TCPListener, int) error {
	return errors.New("this platform cannot set the queue length of a listener")
}

func hold(*net.TCPAddr) (release func(), err error) {
	return nil, errors.New("this platform cannot keep an address bound without listening")
}
