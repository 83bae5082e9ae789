package simulation

import (
	"context"
	"slices"
	"strings"
)

// shorten leaves out lines of a script as long as what is left still breaks: halves first, then
// smaller parts, until no line can be missed or ctx is done. It is delta debugging.
func shorten(ctx context.Context, script string, breaks func(string) bool) string {
	lines := strings.Split(script, "\n")
	try := func(lines []string) bool { return ctx.Err() == nil && breaks(strings.Join(lines, "\n")) }
	if !try(lines) {
		return script // it depends on the order of goroutines too much
	}
	for size := (len(lines) + 1) / 2; size > 0; {
		shorter := false
		for at := 0; at < len(lines); {
			rest := slices.Concat(lines[:at], lines[min(at+size, len(lines)):])
			if len(rest) > 0 && try(rest) {
				lines, shorter = rest, true
			} else {
				at += size
			}
		}
		switch {
		case ctx.Err() != nil:
			return strings.Join(lines, "\n")
		case size > 1:
			size /= 2
		case !shorter:
			size = 0
		}
	}
	return strings.Join(lines, "\n")
}
