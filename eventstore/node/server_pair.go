package node

import (
	"context"

	"google.golang.org/grpc"
)

// serverPair answers clients with the same rights.
type serverPair struct {
	mux   connMux
	mixed *grpc.Server // gRPC calls on connections that began with another request
}

func (n *Node) newServerPair(readOnly bool) *serverPair {
	mixed := n.newServer(readOnly)
	return &serverPair{
		mux:   connMux{logger: n.logger, life: n.life, grpc: n.newServer(readOnly), http: n.newHTTP(mixed)},
		mixed: mixed,
	}
}

// close lets calls that are being answered finish, until ctx ends.
func (p *serverPair) close(ctx context.Context) error {
	stop := context.AfterFunc(ctx, p.mux.grpc.Stop)
	p.mux.grpc.GracefulStop()
	stop()
	err := p.mux.http.Shutdown(ctx)
	if err != nil {
		err = p.mux.http.Close()
	}
	p.mixed.Stop()
	return err
}
