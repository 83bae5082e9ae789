package storage

import (
	"context"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// observed tells how long etcd takes to answer.
type observed struct {
	clientv3.KV
	tell func(operation string, took time.Duration)
}

// Get reads.
func (o observed) Get(ctx context.Context, key string, options ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	began := time.Now()
	defer func() { o.tell("get", time.Since(began)) }()
	return o.KV.Get(ctx, key, options...)
}

// Txn begins a write.
func (o observed) Txn(ctx context.Context) clientv3.Txn { return transaction{o.KV.Txn(ctx), o.tell} }

// transaction is a write that is observed.
type transaction struct {
	clientv3.Txn
	tell func(operation string, took time.Duration)
}

// If adds conditions.
func (t transaction) If(c ...clientv3.Cmp) clientv3.Txn { return transaction{t.Txn.If(c...), t.tell} }

// Then adds what is done when they hold.
func (t transaction) Then(o ...clientv3.Op) clientv3.Txn {
	return transaction{t.Txn.Then(o...), t.tell}
}

// Else adds what is done when they do not.
func (t transaction) Else(o ...clientv3.Op) clientv3.Txn {
	return transaction{t.Txn.Else(o...), t.tell}
}

// Commit writes.
func (t transaction) Commit() (*clientv3.TxnResponse, error) {
	began := time.Now()
	defer func() { t.tell("txn", time.Since(began)) }()
	return t.Txn.Commit()
}
