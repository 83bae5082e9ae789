package storage_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/etcd"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/storage"
)

func ExampleStore() {
	ctx := context.Background()
	server, err := etcd.Start(ctx, etcd.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	store, err := storage.New(server.Client(), storage.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	made, err := store.Create(ctx, "/pods/default/a", []byte("one"))
	fmt.Println(made.Key, string(made.Value), err)
	_, err = store.Create(ctx, "/pods/default/a", []byte("two"))
	fmt.Println(errors.Is(err, storage.ErrExists))
	// Output:
	// /pods/default/a one <nil>
	// true
}

func ExampleToken() {
	token := storage.Token{Revision: 302, From: "default/a\x00"}
	fmt.Println(token.Encode())
	read, err := storage.ParseToken(token.Encode())
	fmt.Println(read == token, err)
	// Output:
	// eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MzAyLCJzdGFydCI6ImRlZmF1bHQvYVx1MDAwMCJ9
	// true <nil>
}
