package node

import (
	"context"
	"net/http"

	"google.golang.org/grpc"
)

// front is what answers clients with the same rights.
type front struct {
	grpc  *grpc.Server // connections that begin with a gRPC call
	mixed *grpc.Server // gRPC calls on connections that began with another request
	http  *http.Server
}

func (n *Node) newFront(readOnly bool) *front {
	f := &front{grpc: n.newServer(readOnly), mixed: n.newServer(readOnly)}
	f.http = n.newHTTP(f.mixed)
	return f
}

// close lets calls that are being answered finish, until ctx ends.
func (f *front) close(ctx context.Context) error {
	stop := context.AfterFunc(ctx, f.grpc.Stop)
	f.grpc.GracefulStop()
	stop()
	err := f.http.Shutdown(ctx)
	if err != nil {
		err = f.http.Close()
	}
	f.mixed.Stop()
	return err
}
