package mutants_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch/internal/mutants"
)

func TestParse(t *testing.T) {
	all, err := mutants.Parse("x.txt", `# of the queue

== twice
why: a key is handed out twice
scenarios: 1, 90
guarantees: workqueue 2, . 1
test: workqueue TestA TestB -race -count 3
test: . TestC/sub
timeout: 2s
expect: guarantee \d
survives: it does not
file: a.go
-one
-	two
+three
-four
file: b.go
-five
+six
+seven
`)
	require.NoError(t, err)
	require.Equal(t, []mutants.Mutant{{
		Name: "twice", Why: "a key is handed out twice",
		Scenarios:  []int{1, 90},
		Guarantees: []mutants.Guarantee{{Folder: "workqueue", Number: 2}, {Folder: ".", Number: 1}},
		Tests: []mutants.Test{
			{Folder: "workqueue", Names: []string{"TestA", "TestB"}, Flags: []string{"-race", "-count", "3"}},
			{Folder: ".", Names: []string{"TestC/sub"}},
		},
		Timeout: 2 * time.Second, Expect: regexp.MustCompile(`guarantee \d`), Survives: "it does not",
		Hunks: []mutants.Hunk{
			{File: "a.go", Old: "one\n	two\n", New: "three\n"},
			{File: "a.go", Old: "four\n"},
			{File: "b.go", Old: "five\n", New: "six\nseven\n"},
		},
	}}, all)
}

func TestParseReportsAllFaults(t *testing.T) {
	_, err := mutants.Parse("x.txt", `file: a.go
== two words
scenarios: one
guarantees: workqueue
timeout: soon
expect: (
colour: red
+added
file: a.go
+added
test: workqueue
test: workqueue TestA TestB/sub
`)
	for _, want := range []string{
		"x.txt:1: before the first mutant", `x.txt:3: strconv.Atoi: parsing "one"`, `x.txt:4: strconv.Atoi: parsing ""`,
		"x.txt:5: time: invalid duration", "x.txt:6: error parsing regexp", `x.txt:7: no such field: "colour: red"`,
		"x.txt:8: a change of no file", "x.txt:10: an added line needs a removed one before it",
		"the name is not one word", "why is missing", "nothing is changed", "a command without tests",
		"a subtest is not the only test of its command", "the timeout is not positive",
	} {
		require.ErrorContains(t, err, want)
	}
	_, err = mutants.Parse("x.txt", "== empty")
	require.ErrorContains(t, err, "x.txt: empty: why is missing")
	require.ErrorContains(t, err, "it stands for no scenario and no guarantee")
	require.ErrorContains(t, err, "no test is named")
}

func TestReadRefusesANameTwice(t *testing.T) {
	folder := t.TempDir()
	one := "== one\n" + head + "test: . TestA\nfile: a.go\n-a\n"
	for i := range 2 {
		require.NoError(t, os.WriteFile(filepath.Join(folder, fmt.Sprint(i, ".txt")), []byte(one), 0o600))
	}
	all, err := mutants.Read(folder)
	require.Len(t, all, 2)
	require.ErrorContains(t, err, "1.txt: there is a one in 0.txt")
}

func TestApplyWantsWholeLinesOnce(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "a.go"), []byte("a\nab\nb\nb\nc\n"), 0o600))
	apply := func(hunks ...mutants.Hunk) (string, error) {
		for i := range hunks {
			hunks[i].File = "a.go"
		}
		files, err := mutants.Mutant{Name: "m", Hunks: hunks}.Apply(folder)
		return string(files["a.go"]), err
	}
	got, err := apply(mutants.Hunk{Old: "a\n", New: "x\ny\n"}, mutants.Hunk{Old: "c\n"})
	require.NoError(t, err)
	require.Equal(t, "x\ny\nab\nb\nb\n", got)
	_, err = apply(mutants.Hunk{Old: "b\n"}, mutants.Hunk{Old: "d\n"})
	require.ErrorContains(t, err, "m: this does not stand in a.go exactly once:\nb")
	require.ErrorContains(t, err, "m: this does not stand in a.go exactly once:\nd")
	_, err = mutants.Mutant{Name: "m", Hunks: []mutants.Hunk{{File: "b.go", Old: "a"}}}.Apply(folder)
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestReport(t *testing.T) {
	result := func(name string, v mutants.Verdict, survives string) mutants.Result {
		m := mutants.Mutant{
			Name: name, Why: "it breaks", Survives: survives,
			Scenarios: []int{9, 2}, Guarantees: []mutants.Guarantee{{Folder: "fakes", Number: 3}},
		}
		return mutants.Result{Mutant: m, Verdict: v, Detail: "as told"}
	}
	var good mutants.Report
	for range 19 {
		good.Results = append(good.Results, result("k", mutants.Killed, ""))
	}
	good.Results = append(good.Results, result("slower", mutants.Survived, "only slower"))
	require.Empty(t, good.Faults())
	require.Equal(t, "19 of 20 mutants killed (95.0 %), 1 survive", good.String())
	require.Contains(t, good.Markdown(), "\n- `slower` (it breaks): only slower\n")
	require.Contains(t, good.Markdown(), "\n| k | it breaks | 2, 9, fakes guarantee 3 | killed | as told |\n")
	require.NotContains(t, good.Markdown(), "Faults")

	bad := mutants.Report{Results: []mutants.Result{
		result("a", mutants.Survived, ""), result("b", mutants.Killed, "not so"), result("c", mutants.Invalid, ""),
	}}
	require.Equal(t, []string{
		"a survives: as told", "b is said to survive, but is noticed: as told", "c is invalid: as told",
		"too many survive: 1 of 3 mutants killed (33.3 %), 2 survive",
	}, bad.Faults())
	require.Contains(t, bad.Markdown(), "## Faults\n\n- a survives: as told\n")
}
