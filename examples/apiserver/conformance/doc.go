// Package conformance is a suite of requests to a Kubernetes API server, and the answers that a real kube-apiserver gave.
//
// # Usage
//
//	groups, err := conformance.Groups()
//	for _, c := range groups[0].Cases {
//		answers, err := c.Run(ctx, conformance.Target{URL: server.URL(), Client: http.DefaultClient})
//		...
//	}
//
// Cases are written as scripts, in the folder cases; what came back stands in the folder answers, one line an answer, and is
// written by the test of examples/e2e that runs the suite against the real server. A case has a namespace of its own and can
// be run once on a server. Script lines are:
//
//	== a name             begins a case
//	# why                 is for readers
//	> POST ~/configmaps   begins a request; ~/ stands for /api/v1/namespaces/ and the case's own, ~apps/v1/ for that group
//	> a: GET ~/pods       gives its answer a name: {a.metadata.uid} in later requests is what stood there; {ns} is the case's
//	                      namespace, {n} the number of the request in it, {x*9} is so many x
//	> WATCH 3 ~/pods      reads so many events, or until the watch ends
//	+ Accept: text/html   is a header of the request
//	anything else         is the body; one with the content type of protobuf is written as JSON here
//
// What can't be equal on two servers is replaced in answers: identities and versions by the number of the request
// that showed them first, times, tokens of pages, addresses and ages by words. The order of the fields of JSON is left open.
//
// # Guarantees
//
//  1. The reference API server answers every request as the real one did, but for Differences.
//     (TestAnswersAsRecorded)
//  2. Every one of Differences is one. (TestAnswersAsRecorded)
//  3. The README of the API server lists them. (TestReadmeListsTheDifferences)
//
// # Concurrency
//
// Cases may run at the same time.
//
// # Testing
//
// The parts are tested with a server of three lines: see TestNormal.
package conformance
