package mutants_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seed3bce33ad/listwatch/internal/mutants"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const root = "../.."

var (
	run     = flag.Bool("mutants", false, "try the mutants, instead of only checking that they fit")
	only    = flag.String("mutants.only", "", "a regular expression that the names of those to try match")
	shard   = flag.String("mutants.shard", "1/1", "i/n: try only every n-th, from the i-th on")
	report  = flag.String("mutants.report", "", "a file for the report")
	workers = flag.Int("mutants.workers", 2, "how many to try at a time")
	list    = flag.Bool("mutants.list", false, "print the names and what breaks")
)

// TestMutants checks that the mutants fit the source and name what exists, so that they can't
// rot; with -mutants it tries them.
func TestMutants(t *testing.T) {
	all, err := mutants.Read("testdata")
	require.NoError(t, err)
	chosen := choose(t, all)
	unfit := faults(t, chosen)
	require.Empty(t, unfit, strings.Join(unfit, "\n"))
	if *list {
		for _, m := range chosen {
			fmt.Printf("%s: %s\n", m.Name, m.Why)
		}
	}
	if !*run {
		return
	}
	require.NotEmpty(t, chosen)
	r := mutants.New(mutants.Options{Root: root, Workers: *workers})
	require.NoError(t, r.Sound(t.Context(), chosen), "the tests must pass on the library as it is")
	done := 0
	out := mutants.Report{Results: r.Run(t.Context(), chosen, func(result mutants.Result) {
		done++
		fmt.Printf("%3d/%d %-8s %5.1fs %s: %s\n", done, len(chosen), result.Verdict, result.Took.Seconds(), result.Mutant.Name, result.Detail)
		if result.Verdict == mutants.Invalid {
			fmt.Println(result.Output)
		}
	})}
	if *report != "" {
		require.NoError(t, os.WriteFile(*report, []byte(out.Markdown()), 0o644))
	}
	fmt.Println(out)
	require.Empty(t, out.Faults(), strings.Join(out.Faults(), "\n"))
}

func choose(t *testing.T, all []mutants.Mutant) (chosen []mutants.Mutant) {
	t.Helper()
	var i, n int
	_, err := fmt.Sscanf(*shard, "%d/%d", &i, &n)
	require.NoError(t, err)
	require.True(t, 1 <= i && i <= n, "shard %s", *shard)
	name := regexp.MustCompile(*only)
	matching := slices.DeleteFunc(all, func(m mutants.Mutant) bool { return !name.MatchString(m.Name) })
	for at := i - 1; at < len(matching); at += n {
		chosen = append(chosen, matching[at])
	}
	return chosen
}

// faults returns what is wrong with mutants: changes that don't fit, tests, scenarios and
// guarantees that don't exist, and scenarios that no command of theirs shows.
func faults(t *testing.T, all []mutants.Mutant) (faults []string) {
	t.Helper()
	fault := func(m mutants.Mutant, format string, args ...any) {
		faults = append(faults, m.Name+": "+fmt.Sprintf(format, args...))
	}
	rows, exist, promised := scenarios(t), make(map[string]map[string]bool), make(map[string]int)
	for _, m := range all {
		if _, err := m.Apply(root); err != nil {
			fault(m, "%v", err)
		}
		for _, command := range m.Tests {
			if exist[command.Folder] == nil {
				exist[command.Folder] = testsOf(t, command.Folder)
			}
			for _, name := range command.Names {
				name, _, _ = strings.Cut(name, "/")
				if !exist[command.Folder][name] {
					fault(m, "%s has no %s", command.Folder, name)
				}
			}
		}
		for _, number := range m.Scenarios {
			if !slices.ContainsFunc(m.Tests, func(c mutants.Test) bool { return shows(rows[number], c) }) {
				fault(m, "no command is of the tests of scenario %d alone: %v", number, rows[number])
			}
		}
		for _, g := range m.Guarantees {
			if promised[g.Folder] == 0 {
				promised[g.Folder] = guarantees(t, g.Folder)
			}
			if g.Number < 1 || g.Number > promised[g.Folder] {
				fault(m, "%s has no guarantee %d", g.Folder, g.Number)
			}
		}
	}
	return faults
}

// shows reports whether the row of a scenario names all tests of a command.
func shows(row []string, c mutants.Test) bool {
	for _, name := range c.Names {
		name, _, _ = strings.Cut(name, "/")
		if !slices.Contains(row, c.Folder+" "+name) {
			return false
		}
	}
	return true
}

// last is the greatest number of a scenario of groups A to G, which each need a mutant.
const last = 119

// TestEachScenarioHasAMutant checks that for every row of CONTRIBUTING.md's table a mutant is
// listed that the row's tests kill.
func TestEachScenarioHasAMutant(t *testing.T) {
	all, err := mutants.Read("testdata")
	require.NoError(t, err)
	have := make(map[int]bool)
	for _, m := range all {
		for _, number := range m.Scenarios {
			have[number] = have[number] || m.Survives == ""
		}
	}
	var missing []int
	for number := range scenarios(t) {
		if number <= last && !have[number] {
			missing = append(missing, number)
		}
	}
	slices.Sort(missing)
	require.Empty(t, missing)
}

// scenarios returns the tests of each row of CONTRIBUTING.md's table, as "folder TestName".
func scenarios(t *testing.T) map[int][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	require.NoError(t, err)
	rows := make(map[int][]string)
	row := regexp.MustCompile(`(?m)^\| (\d+) \| [^|]+ \| ([^|]+) \|$`)
	folder := regexp.MustCompile("`([^`]+)` ((?:(?:Test|Fuzz|Example)\\w+(?:, )?)+)")
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		number, err := strconv.Atoi(m[1])
		require.NoError(t, err)
		for _, named := range folder.FindAllStringSubmatch(m[2], -1) {
			for name := range strings.SplitSeq(strings.TrimSuffix(named[2], ", "), ", ") {
				rows[number] = append(rows[number], named[1]+" "+name)
			}
		}
	}
	require.NotEmpty(t, rows)
	return rows
}

// testsOf returns the names of the tests in a folder.
func testsOf(t *testing.T, folder string) map[string]bool {
	t.Helper()
	names := make(map[string]bool)
	paths, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
	require.NoError(t, err)
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
				names[f.Name.Name] = true
			}
		}
	}
	return names
}

// guarantees returns how many a package's doc.go has.
func guarantees(t *testing.T, folder string) int {
	t.Helper()
	doc, err := os.ReadFile(filepath.Join(root, folder, "doc.go"))
	require.NoError(t, err)
	_, after, _ := strings.Cut(string(doc), "// # Guarantees\n")
	section, _, _ := strings.Cut(after, "// # ")
	return len(regexp.MustCompile(`(?m)^//\s+\d+\.\s`).FindAllString(section, -1))
}
