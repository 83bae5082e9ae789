package project_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// root is the top of the repository.
const root = "../.."

// The caps of CONTRIBUTING.md.
const (
	maxFileLines  = 400
	maxFuncLines  = 60
	maxParameters = 5
	maxMethods    = 5
)

type source struct {
	path string
	file *ast.File
}

// parse reads the Go files of the library and, when all is set, those of the examples.
func parse(t *testing.T, files *token.FileSet, all bool) []source {
	t.Helper()
	var out []source
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && (name == "testdata" || name == ".git" || name == "examples" && !all) {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") {
			return nil
		}
		f, err := parser.ParseFile(files, path, nil, parser.ParseComments)
		out = append(out, source{filepath.ToSlash(strings.TrimPrefix(path, root+"/")), f})
		return err
	}))
	require.NotEmpty(t, out)
	return out
}

// foreign are methods whose parameters are what a library asks for.
var foreign = []string{"ExecInContainer"}

func TestHouseStyle(t *testing.T) {
	t.Parallel()
	files := token.NewFileSet()
	var faults []string
	for _, s := range parse(t, files, true) {
		if strings.HasSuffix(s.path, "_test.go") {
			continue
		}
		fault := func(n ast.Node, format string, args ...any) {
			faults = append(faults, fmt.Sprintf("%s:%d: ", s.path, files.Position(n.Pos()).Line)+fmt.Sprintf(format, args...))
		}
		lines := func(n ast.Node) int { return files.Position(n.End()).Line - files.Position(n.Pos()).Line + 1 }
		if n := files.Position(s.file.FileEnd).Line; n > maxFileLines {
			fault(s.file, "file of %d lines", n)
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				if s.path != "internal/worker/worker.go" {
					fault(n, "starts a goroutine: internal/worker does that")
				}
			case *ast.FuncDecl:
				if lines(n) > maxFuncLines {
					fault(n, "%s has %d lines", n.Name.Name, lines(n))
				}
				if n.Type.Params.NumFields() > maxParameters && !slices.Contains(foreign, n.Name.Name) {
					fault(n, "%s has %d parameters", n.Name.Name, n.Type.Params.NumFields())
				}
				if n.Name.Name == "init" && n.Recv == nil {
					fault(n, "init")
				}
			case *ast.InterfaceType:
				if n.Methods.NumFields() > maxMethods {
					fault(n, "interface of %d methods", n.Methods.NumFields())
				}
			}
			return true
		})
	}
	require.Empty(t, faults, strings.Join(faults, "\n"))
}

// TestEveryExportedNameIsDocumented checks that a comment stands there and starts with the name.
func TestEveryExportedNameIsDocumented(t *testing.T) {
	t.Parallel()
	files := token.NewFileSet()
	var faults []string
	for _, s := range parse(t, files, false) {
		if strings.HasSuffix(s.path, "_test.go") || strings.HasPrefix(s.path, "internal/") {
			continue
		}
		check := func(name *ast.Ident, docs ...*ast.CommentGroup) {
			if !name.IsExported() {
				return
			}
			for _, doc := range docs {
				for _, prefix := range []string{"", "A ", "An ", "The "} {
					if strings.HasPrefix(doc.Text(), prefix+name.Name) {
						return
					}
				}
			}
			faults = append(faults, fmt.Sprintf("%s:%d: %s", s.path, files.Position(name.Pos()).Line, name.Name))
		}
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil || receiverExported(d.Recv.List[0].Type) {
					check(d.Name, d.Doc)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					checkSpec(spec, d, check)
				}
			}
		}
	}
	require.Empty(t, faults, strings.Join(faults, "\n"))
}

func checkSpec(spec ast.Spec, d *ast.GenDecl, check func(*ast.Ident, ...*ast.CommentGroup)) {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		check(spec.Name, spec.Doc, d.Doc)
		if st, ok := spec.Type.(*ast.StructType); ok && spec.Name.IsExported() {
			told := "" // one comment may speak of several fields
			for _, f := range st.Fields.List {
				told += f.Doc.Text()
				for _, name := range f.Names {
					if !strings.Contains(told, name.Name) {
						check(name)
					}
				}
			}
		}
	case *ast.ValueSpec:
		for _, name := range spec.Names {
			if !strings.Contains(spec.Doc.Text(), name.Name) && d.Doc == nil {
				check(name)
			}
		}
	}
}

func receiverExported(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiverExported(e.X)
	case *ast.IndexExpr:
		return receiverExported(e.X)
	case *ast.IndexListExpr:
		return receiverExported(e.X)
	case *ast.Ident:
		return e.IsExported()
	}
	return false
}

// TestNoTestSkipsItself finds calls of Skip. What cannot be tried everywhere is no test; the one
// that looks at the debug page in a browser is the exception.
func TestNoTestSkipsItself(t *testing.T) {
	t.Parallel()
	files := token.NewFileSet()
	var skips []string
	for _, s := range parse(t, files, true) {
		if !strings.HasSuffix(s.path, "_test.go") {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if f, ok := n.(*ast.SelectorExpr); ok && slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, f.Sel.Name) {
				if x, ok := f.X.(*ast.Ident); ok && slices.Contains([]string{"t", "b", "f", "tb"}, x.Name) {
					skips = append(skips, s.path)
				}
			}
			return true
		})
	}
	require.Equal(t, []string{"informer/debugbrowser_test.go"}, skips)
}
