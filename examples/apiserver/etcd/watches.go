package etcd

import (
	"context"
	"sync"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/etcdserver"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3rpc"
	"go.etcd.io/etcd/server/v3/proxy/grpcproxy/adapter"
	"google.golang.org/grpc"
)

// newClient returns a client that calls the server directly. The server's side of its watches
// runs until wait returns, which is to be called when the client has been closed. The server
// itself does not wait for them, and one that is still looking up values panics once the server
// has closed its data.
func newClient(server *etcdserver.EtcdServer) (client *clientv3.Client, wait func()) {
	running := &sync.WaitGroup{}
	watches := adapter.WatchServerToWatchClient(endingWatches{v3rpc.NewWatchServer(server), running})
	client = v3client.New(server)
	client.Watcher = clientv3.NewWatchFromWatchClient(beginningWatches{watches, running}, client)
	return client, running.Wait
}

// beginningWatches counts watches before the goroutine of the server's side is started.
type beginningWatches struct {
	pb.WatchClient
	running *sync.WaitGroup
}

func (w beginningWatches) Watch(ctx context.Context, o ...grpc.CallOption) (pb.Watch_WatchClient, error) {
	w.running.Add(1)
	return w.WatchClient.Watch(ctx, o...) // through the adapter it never fails
}

// endingWatches takes watches off when they have ended in the server.
type endingWatches struct {
	pb.WatchServer
	running *sync.WaitGroup
}

func (w endingWatches) Watch(stream pb.Watch_WatchServer) error {
	defer w.running.Done()
	return w.WatchServer.Watch(stream)
}
