package narrate_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seed3bce33ad/listwatch/examples/cluster/narrate"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// told returns lines without their times.
func told(b *bytes.Buffer) string {
	return regexp.MustCompile(`(?m)^ *[0-9.]+  `).ReplaceAllString(b.String(), "")
}

func TestLines(t *testing.T) {
	var b bytes.Buffer
	n := narrate.New(&b, slog.LevelInfo)
	logger := n.Logger("scheduler")
	logger.Debug("not told")
	logger.Info("bound", "pod", "a/b", "after", time.Second, "why", "two words", "none", "")
	logger.With("x", 1).WithGroup("g").With("y", 2).Warn("two\nlines", "z", 3)
	n.Say("as %s", "it is")
	require.Equal(t, `scheduler          bound pod=a/b after=1s why="two words" none=""
scheduler          warn: two lines x=1 g.y=2 g.z=3
as it is
`, told(&b))

	b.Reset()
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 50 {
				logger.Info("line", "of", i)
			}
		})
	}
	all.Wait()
	require.Equal(t, 400, strings.Count(b.String(), "\n"))
	for line := range strings.Lines(told(&b)) {
		require.Regexp(t, `^scheduler          line of=[0-7]\n$`, line)
	}
}

func TestRepeat(t *testing.T) {
	var here, there bytes.Buffer
	log := func(l *slog.Logger) {
		l.Info("bound", "z", 1, "a", "two words")
		l.With("by", "x").Error("bad", "error", fmt.Errorf("a\tb"))
	}
	log(narrate.New(&here, slog.LevelInfo).Logger("part"))
	r, w := io.Pipe()
	var hearing sync.WaitGroup
	hearing.Go(func() { require.NoError(t, narrate.Repeat(r, narrate.New(&there, slog.LevelInfo).Logger("part"))) })
	log(narrate.Child(w))
	fmt.Fprintln(w, "panic: nobody's words")
	require.NoError(t, w.Close())
	hearing.Wait()
	require.Equal(t, told(&here)+"part               warn: panic: nobody's words\n", told(&there))

	long := strings.NewReader(strings.Repeat("x", 2<<20))
	require.Error(t, narrate.Repeat(long, slog.New(slog.DiscardHandler)))
}
