package etcd_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/goleak"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/etcd"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestStartedAgainKeepsTheData(t *testing.T) {
	dir := t.TempDir()
	first, err := etcd.Start(t.Context(), etcd.Options{Dir: dir})
	require.NoError(t, err)
	put, err := first.Client().Put(t.Context(), "a", "1")
	require.NoError(t, err)
	require.NoError(t, first.Close())
	require.NoError(t, first.Close(), "a second Close does nothing")

	second, err := etcd.Start(t.Context(), etcd.Options{Dir: dir})
	require.NoError(t, err)
	defer func() { require.NoError(t, second.Close()) }()
	got, err := second.Client().Get(t.Context(), "a")
	require.NoError(t, err)
	require.Len(t, got.Kvs, 1)
	require.Equal(t, "1", string(got.Kvs[0].Value))
	require.Equal(t, put.Header.Revision, got.Header.Revision)
}

// The server looks up many previous values for a watch when it is closed.
func TestCloseWaitsForWatches(t *testing.T) {
	server, err := etcd.Start(t.Context(), etcd.Options{})
	require.NoError(t, err)
	value := strings.Repeat("x", 10_000)
	var puts []clientv3.Op
	for i := range 128 {
		puts = append(puts, clientv3.OpPut(fmt.Sprintf("a%d", i), value))
	}
	_, err = server.Client().Txn(t.Context()).Then(puts...).Commit()
	require.NoError(t, err)
	for range 30 {
		created := <-server.Client().Watch(t.Context(), "a", clientv3.WithPrefix(), clientv3.WithPrevKV(), clientv3.WithCreatedNotify())
		require.True(t, created.Created)
	}
	_, err = server.Client().Txn(t.Context()).Then(puts...).Commit()
	require.NoError(t, err)
	require.NoError(t, server.Close())
}

func TestStartFails(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := etcd.Start(ctx, etcd.Options{})
	require.ErrorIs(t, err, context.Canceled)

	_, err = etcd.Start(t.Context(), etcd.Options{Dir: "/dev/null/no"})
	require.ErrorContains(t, err, "etcd: ")
}

func ExampleEtcd() {
	ctx := context.Background()
	server, err := etcd.Start(ctx, etcd.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	_, err = server.Client().Put(ctx, "greeting", "hello")
	if err != nil {
		fmt.Println(err)
		return
	}
	got, err := server.Client().Get(ctx, "greeting")
	fmt.Println(string(got.Kvs[0].Value), err)
	// Output: hello <nil>
}
