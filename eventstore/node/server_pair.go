package node

import (
	"context"

	"google.golang.org/grpc"

	"hexarena/eventstore/node/connmux"
)

// serverPair answers clients with the same rights.
type serverPair struct {
	mux   connmux.Mux
	mixed *grpc.Server // gRPC calls on connections that began with another request
}

func (n *Node) newServerPair(readOnly bool) *serverPair {
	mixed := n.newServer(readOnly)
	return &serverPair{
		mux:   connmux.Mux{Logger: n.logger, Life: n.life, GRPC: n.newServer(readOnly), HTTP: n.newHTTP(mixed)},
		mixed: mixed,
	}
}

// close lets calls that are being answered finish, until ctx ends.
func (p *serverPair) close(ctx context.Context) error {
	stop := context.AfterFunc(ctx, p.mux.GRPC.Stop)
	p.mux.GRPC.GracefulStop()
	stop()
	err := p.mux.HTTP.Shutdown(ctx)
	if err != nil {
		err = p.mux.HTTP.Close()
	}
	p.mixed.Stop()
	return err
}
