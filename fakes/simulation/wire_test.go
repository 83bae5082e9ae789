package simulation_test

import (
	"net/http"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/fakes"
	"github.com/seed3bce33ad/listwatch/fakes/simulation"
	"github.com/seed3bce33ad/listwatch/fakes/wire"
	"github.com/seed3bce33ad/listwatch/reflector/rest"
)

// wired is the server behind HTTP in memory, and a proxy in front of it.
type wired struct {
	server *wire.Server[*object]
	proxy  *wire.Proxy
	client *http.Client
	model  *model
	parts  bool // clients read each namespace by requests of its own
}

// connect puts HTTP between the clients and the server.
func (l *library) connect(w *simulation.World, http2 bool) {
	back, front := wire.Memory(), wire.Memory()
	server := wire.NewServer(l.model.server, wire.Options[*object]{
		Kind: "Object", APIVersion: "v1", Resource: "objects", OversizeBytes: 5000,
	})
	host := wire.Serve(back, server)
	x := &wired{server: server, proxy: wire.NewProxy(front, back, wire.ProxyOptions{}), client: front.Client(http2), model: l.model}
	x.parts = w.Choose("namespaces", "at once", "each") == "each"
	l.wired = x
	w.Cleanup(func() {
		x.client.CloseIdleConnections()
		x.proxy.Close()
		host.Close()
	})
	w.Target("wire", x, fakes.FaultCutBytes, fakes.FaultGarbageBytes, fakes.FaultLateHeaders, fakes.FaultGoAway)
	w.Target("proxy", x, fakes.FaultBlackHole, fakes.FaultReset, fakes.FaultThrottle)
}

// Inject orders a fault of the wire.
func (x *wired) Inject(f fakes.Fault) error {
	err := x.server.Inject(f)
	if f.Kind == fakes.FaultBlackHole || f.Kind == fakes.FaultReset || f.Kind == fakes.FaultThrottle {
		err = x.proxy.Inject(f)
	}
	x.model.follow(f)
	return err
}

// Heal ends the faults of the proxy and of the wire.
func (x *wired) Heal() {
	x.proxy.Heal()
	x.server.Heal()
}

// source returns a client of its own.
func (x *wired) source() listwatch.ListerWatcher[*object] {
	o := rest.Options{Client: x.client, MaxObjectBytes: 3000, Kind: "Object"}
	if x.parts {
		o.Namespaces = []string{key(0).Namespace, key(1).Namespace}
	}
	s, err := rest.New[*object]("http://fake/api/v1/objects", o)
	if err != nil {
		panic(err)
	}
	return s
}
