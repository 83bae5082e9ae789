package wire_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/fakes"
	"github.com/seed3bce33ad/listwatch/fakes/conformance"
	"github.com/seed3bce33ad/listwatch/fakes/wire"
	"github.com/seed3bce33ad/listwatch/reflector/rest"
)

// The suite of all sources over reflector/rest and the server, through the proxy, in virtual
// time: that proves both.
func TestConformance(t *testing.T) {
	for name, w := range map[string]wire.Options[object]{"custom": {}, "built in": {BuiltIn: true}} {
		for _, http2 := range []bool{false, true} {
			fixture := func(conformance.TB) conformance.Fixture[object] {
				return fixtureOf(newRig(fakes.Options[object]{WatchTimeout: time.Hour, FreshWait: 3 * time.Second}, w, http2))
			}
			for _, c := range append(conformance.Cases(fixture), conformance.Rules(fixture)...) {
				t.Run(fmt.Sprintf("%s/http2=%t/%s", name, http2, c.Name), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { c.Run(t) })
				})
			}
		}
	}
}

func fixtureOf(r *rig) conformance.Fixture[object] {
	source, err := rest.New[object]("http://fake/apis/example.com/v1/objects", rest.Options{Client: r.client})
	if err != nil {
		panic(err)
	}
	read := func(o object) conformance.State {
		return conformance.State{
			Key: listwatch.KeyOf(o), UID: o.UID, ResourceVersion: o.ResourceVersion, Value: o.Value,
			Finalizers: o.Finalizers, Deleted: !o.Deleted.IsZero(),
		}
	}
	written := func(s conformance.State) object {
		o := &fakes.Object{
			Meta:  listwatch.Meta{Namespace: s.Key.Namespace, Name: s.Key.Name, UID: s.UID, ResourceVersion: s.ResourceVersion},
			Value: s.Value, Finalizers: s.Finalizers,
		}
		if s.Deleted {
			o.Deleted = time.Unix(1, 0)
		}
		return o
	}
	verb := func(f func(object) (object, error)) func(context.Context, conformance.State) (conformance.State, error) {
		return func(_ context.Context, s conformance.State) (conformance.State, error) {
			o, err := f(written(s))
			if err != nil {
				return conformance.State{}, err
			}
			return read(o), nil
		}
	}
	return conformance.Fixture[object]{
		Source: source, Read: read, Create: verb(r.Create), Update: verb(r.Update),
		Delete: func(_ context.Context, d conformance.State) error {
			_, err := r.Delete(d.Key, fakes.Preconditions{UID: d.UID, ResourceVersion: d.ResourceVersion})
			return err
		},
		Seed:     func(_ context.Context, d conformance.State) error { return r.Seed(written(d)) },
		Expire:   func(context.Context) error { return r.Compact(r.Version()) },
		Bookmark: func(context.Context) error { r.Bookmark(); return nil },
		Close:    r.close,
	}
}

// The same over real connections.
func TestOverLoopback(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		pods := fakes.New(fakes.StampObject, fakes.Options[object]{})
		back, front := loopback(t), loopback(t)
		host := wire.Serve(back, wire.NewServer(pods, wire.Options[object]{}))
		proxy := wire.NewProxy(front, back, wire.ProxyOptions{})
		client := front.Client(http2)
		source, err := rest.New[object]("http://"+front.Addr().String()+"/objects", rest.Options{Client: client})
		require.NoError(t, err)
		for i := range 1000 {
			_, err := pods.Create(obj(fmt.Sprint("o", i), "1"))
			require.NoError(t, err)
		}
		names, meta, err := list(t.Context(), source, listwatch.ListOptions{})
		require.NoError(t, err)
		require.Len(t, names, 1000)
		events := 0
		err = source.Watch(t.Context(), listwatch.WatchOptions{ResourceVersion: "1"}, func(batch ...listwatch.Event[object]) error {
			if events += len(batch); events == 1000 {
				require.Equal(t, meta.ResourceVersion, batch[len(batch)-1].ResourceVersion)
				return proxy.Inject(fakes.Fault{Kind: fakes.FaultReset})
			}
			return nil
		})
		require.ErrorIs(t, err, listwatch.ErrUnavailable)
		client.CloseIdleConnections()
		proxy.Close()
		host.Close()
	}
}
