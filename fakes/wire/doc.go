// Package wire holds a fake Kubernetes API server: what a [fakes.Source] has, on the HTTP wire,
// and a proxy that breaks connections. It is for tests of clients that speak HTTP, such as those
// made of reflector/rest; no code of this module imports it but tests.
//
// # Usage
//
//	pods := fakes.New(fakes.StampObject, fakes.Options[*fakes.Object]{})
//	server := wire.NewServer(pods, wire.Options[*fakes.Object]{Kind: "Pod", APIVersion: "v1", Resource: "pods"})
//	back, front := wire.Memory(), wire.Memory()
//	host := wire.Serve(back, server)
//	defer host.Close()
//	proxy := wire.NewProxy(front, back, wire.ProxyOptions{})
//	defer proxy.Close()
//	client := front.Client(true) // HTTP/2
//	defer client.CloseIdleConnections()
//	source, err := rest.New[*fakes.Object]("http://fake/api/v1/pods", rest.Options{Client: client})
//	...
//	err = server.Inject(fakes.Fault{Kind: fakes.FaultCutBytes, N: 100})
//	err = proxy.Inject(fakes.Fault{Kind: fakes.FaultBlackHole, For: time.Minute})
//
// [Memory] is for bubbles of testing/synctest: everything then happens in virtual time. Outside of
// one, [Loopback] is a TCP connection.
//
// Lists and watches are answered as kube-apiserver 1.36 answers them, in JSON, by what the source
// does: pages, versions, initial events, bookmarks, statuses and ERROR events. It has no writes,
// no single objects, no tables, no gzip. A connection that breaks before the answer, as by "fail"
// without a code, breaks behind its first byte, since net/http repeats a GET that was told nothing.
//
// # Guarantees
//
//  1. A client sees through a server what the source promises; reflector/rest over it keeps every
//     rule of a source. (TestConformance)
//  2. A fault of the source is on the wire what a real server would make of it. (TestSourceFaultsOnTheWire)
//  3. An answer is broken or spoiled at exactly the byte that was ordered. (TestCutBytes, TestGarbageBytes)
//  4. A proxy changes nothing of what it passes on. (TestProxyPasses)
//  5. Host and proxy have no goroutine left when Close returns. (TestMain, TestCloseWaits)
//
// # Concurrency
//
// All methods are safe for concurrent use. The server has no goroutine of its own; a host has
// those of net/http; a proxy has one, and two for each connection.
//
// # Testing
//
// The conformance suite runs over reflector/rest and this server. What is random is settled by
// the flag -seed, which is printed.
package wire
