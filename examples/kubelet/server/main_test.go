package server_test

import (
	"testing"

	"go.uber.org/goleak"
)

// What clients of client-go leave behind for some time is not the server's.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("k8s.io/client-go/tools/remotecommand.(*heartbeat).start"),
		goleak.IgnoreAnyFunction("k8s.io/client-go/tools/remotecommand.(*streamProtocolV2).copyStdin.func2"),
		goleak.IgnoreAnyFunction("k8s.io/client-go/tools/remotecommand.(*streamProtocolV2).copyStdin.func1"),
		goleak.IgnoreAnyFunction("k8s.io/client-go/tools/remotecommand.(*streamProtocolV2).copyStdout.func1"),
		goleak.IgnoreAnyFunction("github.com/moby/spdystream.(*Connection).shutdown"))
}
