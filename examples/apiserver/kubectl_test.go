package apiserver_test

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch/examples/apiserver"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/kubectltest"
)

var updateKubectl = flag.Bool("kubectl.update", false, "write what kubectl can do into README.md")

// kubectlWait is how long a command may take, in real time.
const kubectlWait = 2 * time.Minute

// kubectl is a program with a server to drive it against, and a home of its own.
type kubectl struct {
	*api
	program, home string
	// connection are the arguments that say where the server is.
	connection []string
	// node runs what is asked for by streams, which includes a server at port.
	node node
	port string
}

// newKubectl is the program for a server: see [kubectltest.Build].
func newKubectl(t testing.TB, a *api) *kubectl {
	t.Helper()
	program, err := kubectltest.Build(t.Context())
	require.NoError(t, err)
	return &kubectl{api: a, program: program, home: t.TempDir(), connection: []string{"--server", a.server.URL()}}
}

// step is a command and what has to come of it.
type step struct {
	// line are the arguments, as one would type them; single quotes hold one together.
	line string
	// stdin is what it reads.
	stdin string
	// code is the exit code that is right.
	code int
	// want are regular expressions of what it prints.
	want []string
	// during is called while it runs, when it is given, and may wait for what it prints. The requests
	// that the command makes are printed too then.
	during func(k *kubectl, out *output)
}

// output is what a running command prints.
type output struct {
	t     testing.TB
	lines *bufio.Scanner
	text  strings.Builder
}

// until blocks until a line matches; false when there is none.
func (o *output) until(line string) bool {
	for o.lines.Scan() {
		o.text.WriteString(o.lines.Text() + "\n")
		if regexp.MustCompile(line).MatchString(o.lines.Text()) {
			return true
		}
	}
	return false
}

// run runs a command and returns "" when it did what it has to, or else what went wrong.
func (k *kubectl) run(s step) string {
	k.t.Helper()
	ctx, cancel := context.WithTimeout(k.t.Context(), kubectlWait)
	defer cancel()
	line, _, _ := strings.Cut(s.line, " (")
	args := slices.Concat(k.connection, split(strings.ReplaceAll(line, "PORT", k.port)))
	if s.during != nil {
		args = append(args, "-v=6")
	}
	c := exec.CommandContext(ctx, k.program, args...)
	c.Env = []string{"HOME=" + k.home, "PATH=" + os.Getenv("PATH"), "KUBECONFIG=" + os.DevNull, "KUBE_EDITOR=sed -i s/before/after/"}
	c.Stdin, c.Dir = strings.NewReader(s.stdin), k.home
	read, write := io.Pipe()
	c.Stdout, c.Stderr = write, write
	var running sync.WaitGroup
	var failure error
	running.Go(func() {
		failure = c.Run()
		_ = write.Close() // it never fails
	})
	out := &output{t: k.t, lines: bufio.NewScanner(read)}
	out.lines.Buffer(nil, 1<<20)
	if s.during != nil {
		s.during(k, out)
	}
	out.until("^$a line that never comes")
	running.Wait()
	return k.judge(s, out.text.String(), failure)
}

func (k *kubectl) judge(s step, text string, failure error) string {
	code := 0
	if exit, ok := failure.(*exec.ExitError); ok {
		code = exit.ExitCode()
	} else if failure != nil {
		return failure.Error()
	}
	k.t.Logf("kubectl %s\nexit code %d\n%s", s.line, code, text)
	for _, want := range s.want {
		if !regexp.MustCompile(want).MatchString(text) {
			code = -1
		}
	}
	if code == s.code {
		return ""
	}
	return k.reason(text)
}

// reason returns the line that tells what went wrong, without what differs from run to run.
func (k *kubectl) reason(text string) string {
	reason := "the output is another one"
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.ToLower(line), "error") {
			reason = strings.TrimSpace(line)
		}
	}
	reason = strings.ReplaceAll(reason, k.server.URL(), "http://SERVER")
	reason = regexp.MustCompile(`\S*kubectl_replace_\d+\S*`).ReplaceAllString(reason, "FILE")
	return strings.ReplaceAll(unnumbered(reason), "|", "\\|")
}

// split splits a command line at spaces that are not between single quotes.
func split(line string) []string {
	var args []string
	for _, m := range regexp.MustCompile(`(?:[^\s']|'[^']*')+`).FindAllString(line, -1) {
		args = append(args, strings.ReplaceAll(m, "'", ""))
	}
	return args
}

// Every command of kubectl that people use, in the order of a story; README.md says for each whether it works.
func TestKubectlCommands(t *testing.T) {
	k := newKubectl(t, newAPI(t, apiserver.Options{RBAC: true}))
	k.prepare()
	var table strings.Builder
	table.WriteString("| `kubectl …` | |\n|---|---|\n")
	k.prepareStreams()
	for _, s := range slices.Concat(kubectlSteps(), streamSteps()) {
		result := "works"
		if reason := k.run(s); reason != "" {
			result = "not yet: " + reason
		}
		fmt.Fprintf(&table, "| `%s` | %s |\n", s.line, result)
	}
	const begin, end = "<!-- made by TestKubectlCommands -->\n", "<!-- end -->\n"
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(readme), begin)
	require.True(t, ok)
	old, after, ok := strings.Cut(rest, end)
	require.True(t, ok)
	if *updateKubectl {
		require.NoError(t, os.WriteFile("README.md", []byte(before+begin+table.String()+end+after), 0o666))
		return
	}
	require.Equal(t, old, table.String(), "what kubectl can do has changed: go test ./examples/apiserver -run Kubectl -kubectl.update")
}
