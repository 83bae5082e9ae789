package etcd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// When a connection that says nothing is taken for dead: it is asked after the first time, and
// given up when no answer has come after the second.
const (
	keepAliveTime    = 30 * time.Second
	keepAliveTimeout = 10 * time.Second
)

// connectTimeout is how long the first answer may take.
const connectTimeout = 20 * time.Second

// ConnectOptions say how to reach an etcd that runs elsewhere.
type ConnectOptions struct {
	// Endpoints are the addresses of its members, such as "https://10.0.0.1:2379". A client
	// goes on with another when one fails. There must be one at least.
	Endpoints []string
	// CAFile holds the certificates of who may have signed the servers' ones. Defaults to the
	// system's.
	CAFile string
	// CertFile and KeyFile are the client's certificate and its key. Both or neither. Defaults
	// to none.
	CertFile, KeyFile string
	// Logger hears what the client logs. Defaults to nobody.
	Logger *zap.Logger
}

// Connect returns a client of an etcd that runs elsewhere, when a member has answered. It blocks
// until then, for 20 s at most, or until ctx is done. The client is the caller's to close.
func Connect(ctx context.Context, o ConnectOptions) (*clientv3.Client, error) {
	if len(o.Endpoints) == 0 {
		return nil, errors.New("etcd: connect: no endpoints")
	}
	if (o.CertFile == "") != (o.KeyFile == "") {
		return nil, errors.New("etcd: connect: CertFile and KeyFile need each other")
	}
	config := clientv3.Config{
		Endpoints: o.Endpoints, Logger: o.Logger,
		DialKeepAliveTime: keepAliveTime, DialKeepAliveTimeout: keepAliveTimeout,
	}
	if config.Logger == nil {
		config.Logger = zap.NewNop()
	}
	if o.CAFile != "" || o.CertFile != "" {
		var err error
		files := transport.TLSInfo{TrustedCAFile: o.CAFile, CertFile: o.CertFile, KeyFile: o.KeyFile}
		if config.TLS, err = files.ClientConfig(); err != nil {
			return nil, fmt.Errorf("etcd: connect: %w", err)
		}
	}
	client, err := clientv3.New(config)
	if err != nil {
		return nil, fmt.Errorf("etcd: connect: %w", err)
	}
	waiting, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	if _, err := client.Get(waiting, "/", clientv3.WithCountOnly()); err != nil {
		return nil, errors.Join(fmt.Errorf("etcd: connect to %v: %w", o.Endpoints, err), client.Close())
	}
	return client, nil
}
