package project_test

import (
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// tests returns the names of all test, fuzz and example functions, by folder.
func tests(t *testing.T) map[string]map[string]bool {
	t.Helper()
	out := map[string]map[string]bool{}
	for _, s := range parse(t, token.NewFileSet(), true) {
		if !strings.HasSuffix(s.path, "_test.go") {
			continue
		}
		folder := filepath.ToSlash(filepath.Dir(s.path))
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv != nil || !regexp.MustCompile(`^(Test|Fuzz|Example)`).MatchString(f.Name.Name) {
				continue
			}
			if out[folder] == nil {
				out[folder] = map[string]bool{}
			}
			out[folder][f.Name.Name] = true
		}
	}
	return out
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, name))
	require.NoError(t, err)
	return string(b)
}

// scenarios are the numbers of the failures that CONTRIBUTING.md must have a row for.
var scenarios = []int{
	1, 2, 3, 5, 6, 7, 9, 10, 11,
	13, 14, 15, 16, 17, 19, 20, 22, 24, 25, 26,
	27, 28, 29, 30, 32, 34, 35, 36, 37, 38, 40, 41, 43, 45, 46, 47, 48, 50, 51, 52, 54, 55, 56, 59,
	60, 61, 63, 64, 65, 67, 68, 69, 71, 72, 74, 75, 77, 78, 79,
	80, 82, 84,
	86, 87, 88, 90, 91, 92, 94, 95, 97, 98,
	99, 100, 102, 103, 105, 107,
}

// TestScenarioTable checks that each scenario has a row, and that the tests it names exist.
// Rows look like: | 13 | too large version … | `reflector` TestA, TestB |
func TestScenarioTable(t *testing.T) {
	t.Parallel()
	exist := tests(t)
	rows := map[int]bool{}
	row := regexp.MustCompile(`(?m)^\| (\d+) \| ([^|]+) \| ([^|]+) \|$`)
	folder := regexp.MustCompile("`([^`]+)` ((?:(?:Test|Fuzz|Example)\\w+(?:, )?)+)")
	for _, m := range row.FindAllStringSubmatch(read(t, "CONTRIBUTING.md"), -1) {
		number, err := strconv.Atoi(m[1])
		require.NoError(t, err)
		require.False(t, rows[number], "two rows for %d", number)
		rows[number] = true
		named := folder.FindAllStringSubmatch(m[3], -1)
		require.NotEmpty(t, named, "scenario %d names no test", number)
		for _, n := range named {
			for name := range strings.SplitSeq(strings.TrimSuffix(n[2], ", "), ", ") {
				require.True(t, exist[n[1]][name], "scenario %d: %s has no %s", number, n[1], name)
			}
		}
	}
	for _, number := range scenarios {
		require.True(t, rows[number], "no row for scenario %d", number)
	}
}

// packages are the folders of the library that promise something.
var packages = []string{".", "indexer", "deltafifo", "reflector", "reflector/rest", "informer", "workqueue", "fakes", "fakes/conformance", "fakes/wire", "fakes/simulation"}

// TestGuaranteesNameTheirTests reads the numbered list under "# Guarantees" of each doc.go: each
// item ends with the tests that prove it in parentheses, each of the own package unless it is
// written as folder.TestName.
func TestGuaranteesNameTheirTests(t *testing.T) {
	t.Parallel()
	exist := tests(t)
	name := regexp.MustCompile(`(?:([a-z/]+)\.)?((?:Test|Fuzz|Example)\w+)`)
	for _, folder := range packages {
		doc := read(t, folder+"/doc.go")
		_, after, found := strings.Cut(doc, "// # Guarantees\n")
		require.True(t, found, "%s/doc.go has no Guarantees", folder)
		section, _, _ := strings.Cut(after, "// # ")
		section, _, _ = strings.Cut(section, "\npackage ")
		items := regexp.MustCompile(`(?m)^//\s+\d+\.\s`).Split(section, -1)[1:]
		require.NotEmpty(t, items, "%s/doc.go numbers no guarantee", folder)
		for i, item := range items {
			named := name.FindAllStringSubmatch(item, -1)
			require.NotEmpty(t, named, "%s: guarantee %d names no test", folder, i+1)
			for _, n := range named {
				in := folder
				if n[1] != "" {
					in = n[1]
				}
				require.True(t, exist[in][n[2]], "%s: guarantee %d: %s has no %s", folder, i+1, in, n[2])
			}
		}
	}
}

// TestTriedNamesTests reads the table in the documentation of fakes: one item for each of the
// sixteen guarantees, with tests that exist and kinds of fault.
func TestTriedNamesTests(t *testing.T) {
	t.Parallel()
	exist := tests(t)
	_, section, found := strings.Cut(read(t, "fakes/doc.go"), "// # What the library was tried under\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "// # ")
	items := regexp.MustCompile(`(?m)^//\s+\d+\.\s`).Split(section, -1)[1:]
	require.Len(t, items, 16)
	name := regexp.MustCompile(`([a-z/]+)\.(Test\w+)`)
	for i, item := range items {
		named := name.FindAllStringSubmatch(item, -1)
		require.NotEmpty(t, named, "guarantee %d", i+1)
		require.Contains(t, item, "Under", "guarantee %d", i+1)
		for _, n := range named {
			require.True(t, exist[n[1]][n[2]], "guarantee %d: %s has no %s", i+1, n[1], n[2])
		}
	}
}

// TestPackageDocs checks that each package says how it is used, what it promises, who may call
// it from where, and how to test with it.
func TestPackageDocs(t *testing.T) {
	t.Parallel()
	for _, folder := range packages {
		doc := read(t, folder+"/doc.go")
		for _, heading := range []string{"Usage", "Guarantees", "Concurrency", "Testing"} {
			require.Contains(t, doc, "// # "+heading+"\n", folder)
		}
	}
}
