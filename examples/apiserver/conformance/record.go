package conformance

import (
	"bufio"
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

//go:embed answers
var answers embed.FS

// Recorded returns what the real server answered to the cases of a group, by case.
func Recorded(group string) (map[string][]Answer, error) {
	data, err := answers.ReadFile("answers/" + group + ".jsonl")
	if err != nil {
		return nil, err
	}
	all := map[string][]Answer{}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	for {
		var a Answer
		if err := d.Decode(&a); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("conformance: %s: %w", group, err)
		}
		all[a.Case] = append(all[a.Case], a)
	}
}

// Record writes what a server answered to the cases of a group to a file in dir, the folder answers of this package.
func Record(dir, group string, all []Answer) error {
	var out bytes.Buffer
	w := bufio.NewWriter(&out)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	for _, a := range all {
		if err := e.Encode(a); err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, group+".jsonl"), out.Bytes(), 0o644)
}

// Compare returns how an answer differs from the recorded one, or "".
func Compare(want, got Answer) string {
	// Both are compared as they are written, since a recording was.
	lines := func(a Answer) []string {
		data, err := json.MarshalIndent(a, "", " ")
		if err != nil {
			return []string{err.Error()}
		}
		return strings.Split(string(data), "\n")
	}
	w, g := lines(want), lines(got)
	if strings.Join(w, "\n") == strings.Join(g, "\n") {
		return ""
	}
	for len(w) > 0 && len(g) > 0 && w[0] == g[0] {
		w, g = w[1:], g[1:]
	}
	for len(w) > 0 && len(g) > 0 && w[len(w)-1] == g[len(g)-1] {
		w, g = w[:len(w)-1], g[:len(g)-1]
	}
	const shown = 60
	text := got.Request + "\n"
	for _, side := range []struct {
		sign  string
		lines []string
	}{{"- ", w}, {"+ ", g}} {
		for i, l := range side.lines {
			if i == shown {
				text += side.sign + "…\n"
				break
			}
			text += side.sign + l + "\n"
		}
	}
	return text
}
