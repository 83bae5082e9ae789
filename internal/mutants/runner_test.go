package mutants_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch/internal/mutants"
)

// module is a library of one function, with tests that pass.
var module = map[string]string{
	"go.mod": "module tiny\n\ngo 1.25\n",
	"tiny.go": `package tiny

func Sum(n int) (sum int) {
	for i := 0; i < n; i++ {
		sum += i
	}
	return sum
}
`,
	"tiny_test.go": `package tiny

import "testing"

func TestSum(t *testing.T) {
	if sum := Sum(4); sum != 6 {
		t.Fatal("a sum of", sum)
	}
}

func TestNothing(t *testing.T) {}

func TestBroken(t *testing.T) { t.Fatal("as always") }
`,
}

const head = "why: w\nguarantees: . 1\n"

// breaks are mutants of the module by what is to come of each.
const breaks = `
== noticed
` + head + `test: . TestSum TestNothing
expect: a sum of 10
file: tiny.go
-	for i := 0; i < n; i++ {
+	for i := 0; i <= n; i++ {
== of-one-command-only
` + head + `test: . TestSum
test: . TestNothing -short
file: tiny.go
-	return sum
+	return sum + 1
== otherwise-noticed
` + head + `test: . TestSum
expect: guarantee 5
file: tiny.go
-	return sum
+	return sum + 1
== hangs
` + head + `test: . TestSum
timeout: 300ms
file: tiny.go
-	for i := 0; i < n; i++ {
+	for i := 0; i < n; i += 0 {
== panics
` + head + `test: . TestSum
file: tiny.go
-	return sum
+	c := make(chan int)
+	close(c)
+	close(c)
+	return sum
== compiles-not
` + head + `test: . TestSum
file: tiny.go
-	return sum
+	return
+	sum++
== names-no-test
` + head + `test: . TestElse
file: tiny.go
-	return sum
+	return sum + 1
== fits-not
` + head + `test: . TestSum
file: tiny.go
-	return sums
+	return sum
`

func write(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range module {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	t.Setenv("GOWORK", "off")
	return folder
}

func TestVerdicts(t *testing.T) {
	folder := write(t)
	all, err := mutants.Parse("breaks.txt", breaks)
	require.NoError(t, err)
	r := mutants.New(mutants.Options{Root: folder})
	require.NoError(t, r.Sound(t.Context(), all[:5]))
	told := 0
	got := make(map[string]string)
	for _, result := range r.Run(t.Context(), all, func(mutants.Result) { told++ }) {
		got[result.Mutant.Name] = string(result.Verdict) + " " + strings.Split(result.Detail, "\n")[0]
	}
	require.Equal(t, map[string]string{
		"noticed":             "killed . TestSum TestNothing: TestSum",
		"of-one-command-only": "survived . TestNothing -short: not noticed",
		"otherwise-noticed":   "survived . TestSum: noticed, but not as expected",
		"hangs":               "killed . TestSum: hangs",
		"panics":              "killed . TestSum: TestSum",
		"compiles-not":        "invalid . TestSum: it does not compile",
		"names-no-test":       "invalid . TestElse: there is no such test",
		"fits-not":            "invalid fits-not: this does not stand in tiny.go exactly once:",
	}, got)
	require.Equal(t, len(all), told)
	text, err := os.ReadFile(filepath.Join(folder, "tiny.go"))
	require.NoError(t, err)
	require.Equal(t, module["tiny.go"], string(text), "no file is touched")
}

func TestUnsoundTestsAreFound(t *testing.T) {
	folder := write(t)
	all, err := mutants.Parse("broken.txt", "== one\n"+head+"test: . TestBroken/sub\nfile: tiny.go\n-	return sum\n")
	require.NoError(t, err)
	err = mutants.New(mutants.Options{Root: folder}).Sound(t.Context(), all)
	require.ErrorContains(t, err, "as always")
}

func TestNewRefusesNegativeOptions(t *testing.T) {
	require.Panics(t, func() { mutants.New(mutants.Options{Workers: -1}) })
	require.NotPanics(t, func() { mutants.New(mutants.Options{}) })
}
