package conformance_test

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch/examples/apiserver"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/conformance"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/crd"
)

var updateReadme = flag.Bool("conformance.update", false, "write the differences into the README of the API server")

// start starts the reference API server.
func start(t *testing.T) conformance.Target {
	t.Helper()
	server, err := apiserver.Start(t.Context(), apiserver.Options{
		FutureWait: time.Millisecond, Namespaces: []string{"default", "kube-system"}, Definitions: []*crd.Definition{crd.Widgets()},
	})
	require.NoError(t, err)
	transport := &http.Transport{DisableCompression: true}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		require.NoError(t, server.Close())
	})
	return conformance.Target{URL: server.URL(), Client: &http.Client{Transport: transport}}
}

// at names a request of a case.
func at(name string, step int) string { return fmt.Sprintf("%s/%d", name, step) }

// Every request is answered as the real server was recorded to answer it, but where Differences says why not.
func TestAnswersAsRecorded(t *testing.T) {
	target := start(t)
	differs := map[string]bool{}
	for _, d := range conformance.Differences() {
		for _, step := range d.Steps {
			differs[at(d.Case, step)] = true
		}
	}
	groups, err := conformance.Groups()
	require.NoError(t, err)
	for _, g := range groups {
		recorded, err := conformance.Recorded(g.Name)
		require.NoError(t, err)
		for _, c := range g.Cases {
			t.Run(g.Name+"/"+c.Name, func(t *testing.T) {
				want := recorded[c.Name]
				delete(recorded, c.Name)
				got, err := c.Run(t.Context(), target)
				require.NoError(t, err)
				require.Len(t, want, len(got), "record the answers again")
				for i := range got {
					diff, at := conformance.Compare(want[i], got[i]), at(c.Name, i+1)
					switch known := differs[at]; {
					case diff != "" && !known:
						t.Errorf("%s differs from the real server:\n%s", at, diff)
					case diff == "" && known:
						t.Errorf("%s is among Differences and is answered as by the real server", at)
					}
					delete(differs, at)
				}
			})
		}
		require.Empty(t, recorded, "cases that are no longer there")
	}
	require.Empty(t, differs, "differences of requests that are not there")
}

// The README's table of differences is made here, of what TestAnswersAsRecorded checks.
func TestReadmeListsTheDifferences(t *testing.T) {
	const readme, begin, end = "../README.md", "<!-- made by TestReadmeListsTheDifferences -->\n", "<!-- end -->"
	groups, err := conformance.Groups()
	require.NoError(t, err)
	requests, cases := 0, map[string]conformance.Case{}
	for _, g := range groups {
		for _, c := range g.Cases {
			requests += len(c.Steps)
			cases[c.Name] = c
		}
	}
	var rows strings.Builder
	others := 0
	for _, d := range conformance.Differences() {
		others += len(d.Steps)
		var lines []string
		for _, step := range d.Steps {
			line := fmt.Sprintf("%d: `%s`", step, cases[d.Case].Steps[step-1])
			if len(d.Steps) > 1 {
				line = fmt.Sprint(step)
			}
			lines = append(lines, strings.ReplaceAll(line, "|", `\|`))
		}
		fmt.Fprintf(&rows, "| %s | %s | %s |\n", d.Case, strings.Join(lines, ", "), d.Why)
	}
	table := fmt.Sprintf("%d requests in %d cases; %d of them are answered otherwise:\n\n| case | requests | |\n|---|---|---|\n%s",
		requests, len(cases), others, &rows)
	data, err := os.ReadFile(readme)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(data), begin)
	require.True(t, ok, "README.md has no place for the table")
	was, after, ok := strings.Cut(rest, end)
	require.True(t, ok, "the table in README.md has no end")
	if *updateReadme {
		require.NoError(t, os.WriteFile(readme, []byte(before+begin+table+end+after), 0o600))
		return
	}
	require.Equal(t, table, was, "go test -run ReadmeLists -conformance.update")
}
