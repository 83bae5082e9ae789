package server_test

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain lets through what client-go's exec clients leave behind when they are cancelled, and a goroutine that waits
// for a broken connection.
func TestMain(m *testing.M) {
	options := []goleak.Option{goleak.IgnoreAnyFunction("github.com/moby/spdystream.(*Connection).shutdown")}
	for _, name := range []string{
		"(*heartbeat).start", "(*wsStreamExecutor).StreamWithContext.func1", "(*spdyStreamExecutor).StreamWithContext.func1", "watchErrorStream.func1",
		"(*streamProtocolV2).copyStdin.func1", "(*streamProtocolV2).copyStdin.func2", "(*streamProtocolV2).copyStdout.func1",
		"(*streamProtocolV2).copyStderr.func1", "(*streamProtocolV3).handleResizes.func1",
	} {
		options = append(options, goleak.IgnoreAnyFunction("k8s.io/client-go/tools/remotecommand."+name))
	}
	goleak.VerifyTestMain(m, options...)
}
