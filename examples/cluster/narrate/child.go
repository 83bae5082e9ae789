package narrate

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
)

// maxLine bounds a line of a child, in bytes.
const maxLine = 1 << 20

// Child returns the logger of a part in a process whose parent hears w by [Repeat].
func Child(w io.Writer) *slog.Logger {
	var mu sync.Mutex
	return slog.New(handler{tell: func(level slog.Level, text string) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(w, "%v\t%s\n", level, text)
	}})
}

// Repeat tells what a [Child] has written to r, until there is no more. What isn't of one is told as a warning.
func Repeat(r io.Reader, to *slog.Logger) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		level, text, found := strings.Cut(lines.Text(), "\t")
		var l slog.Level
		if err := l.UnmarshalText([]byte(level)); !found || err != nil {
			l, text = slog.LevelWarn, lines.Text()
		}
		to.Log(context.Background(), l, text)
	}
	return lines.Err()
}
