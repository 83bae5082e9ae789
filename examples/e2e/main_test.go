package e2e_test

import (
	"flag"
	"fmt"
	"log/slog"
	"os"
	"testing"

	"go.uber.org/goleak"
	"k8s.io/klog/v2"
)

var (
	seedFlag    = flag.Uint64("seed", 0, "where chance begins; 0: anywhere")
	reportFlag  = flag.String("report", "", "write the report to this file, as markdown")
	objectsFlag = flag.Int("objects", 100_000, "config maps of the large list")
)

func TestMain(m *testing.M) {
	klog.SetSlogLogger(slog.New(slog.DiscardHandler)) // client-go tells each failure that is made here
	if job := os.Getenv(childEnv); job != "" {
		if err := child(job); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}
