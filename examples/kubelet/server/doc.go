// Package server is what a kubelet answers to the API server: the logs of its containers, commands that run in them,
// connections to their ports, what they use, and its pods. The paths are those of the real kubelet:
//
//	/containerLogs/NAMESPACE/POD/CONTAINER   as text; follow, previous, tailLines, limitBytes, sinceSeconds, sinceTime, timestamps
//	/exec/NAMESPACE/POD/CONTAINER            a command, by WebSocket (v5.channel.k8s.io, v4.channel.k8s.io) or SPDY
//	/portForward/NAMESPACE/POD               connections to ports, by SPDY
//	/stats/summary                           CPU and memory of the node's pods
//	/pods                                    the pods as a list of the API
//	/healthz                                 ok
//
// # Usage
//
//	config, err := server.LoadTLS("pki/kubelet-n1.pem", "pki/ca.crt")
//	listener, err := net.Listen("tcp", "127.0.0.1:0")
//	options.Port = int32(listener.Addr().(*net.TCPAddr).Port) // options are the kubelet's
//	options.Serve = func(ctx context.Context, h kubelet.Host) error {
//		return server.Run(ctx, server.Options{Host: h, Listener: listener, TLS: config})
//	}
//
// # Guarantees
//
//  1. With TLS only the API server is let in: a certificate of the cluster's authority, for the name auth.KubeletClient.
//     (TestOnlyTheAPIServerIsLetIn)
//  2. A log is that of the container that is there, or of the one before it. One that is followed comes line by line, and
//     ends with its container. (TestLogs, TestFollowedLog)
//  3. A command has its own streams and its exit code comes back, by either protocol. (TestExec)
//  4. A command whose client has gone is ended, and so is all that is going on when the server is closed.
//     (TestExecEndsWithItsClient, TestCloseEndsAll)
//  5. Connections to a port go to the address of the pod, each way to its end. (TestPortForward)
//  6. Neither commands nor what goes through streams is told to Options.Logger. (TestExec)
//
// # Concurrency
//
// A [Server] is safe for concurrent use. Options.Host is called by many goroutines at a time.
//
// # Testing
//
// A [Server] without TLS speaks plain HTTP on a free port of a loopback address and lets everybody in.
package server
