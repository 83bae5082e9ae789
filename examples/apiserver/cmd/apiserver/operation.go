package main

import (
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/seed3bce33ad/listwatch/examples/apiserver"
)

// operationFlags adds the flags that say how much the server does at a time, how it stops and what it logs.
func operationFlags(set *flag.FlagSet, o *apiserver.Options) {
	l := &o.Limits
	set.IntVar(&l.Mutating, "max-mutating-requests-inflight", 200, "how many requests that change something are answered at a time")
	set.IntVar(&l.ReadOnly, "max-requests-inflight", 400, "how many other requests, but for watches, are answered at a time")
	set.DurationVar(&l.RequestTimeout, "request-timeout", time.Minute, "how long a request, but for a watch, may take")
	set.IntVar(&l.Streams, "http2-max-streams-per-connection", 100, "how many requests one connection of HTTP/2 may have at a time")
	set.DurationVar(&o.ShutdownDelay, "shutdown-delay-duration", 0,
		"how long to go on when stopped, after /readyz has turned, so that others can take over")
	set.BoolVar(&o.ServiceAccounts, "service-account-admission", true,
		"have every pod run as a service account that is there; somebody must make one named default in each namespace")
	level := new(slog.LevelVar)
	set.TextVar(level, "log-level", level, "what to log: `level` debug (each request), info, warn or error")
	o.Logger = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
}

// usage writes what the command is for and what its flags mean.
func usage(set *flag.FlagSet, out io.Writer) {
	// Nobody can do anything about an output that takes nothing.
	_, _ = fmt.Fprint(out, "Runs the reference Kubernetes API server until it is interrupted.\n\nUsage: apiserver [flags]\n\n")
	set.VisitAll(func(f *flag.Flag) {
		value, text := flag.UnquoteUsage(f)
		if f.DefValue != "" && f.DefValue != "false" && !strings.Contains(text, "(default ") {
			text += " (default " + f.DefValue + ")"
		}
		_, _ = fmt.Fprintf(out, "  --%s\n      %s\n", strings.TrimSpace(f.Name+" "+value), text)
	})
}
