package solver_test

import (
	"bytes"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

const module = "github.com/wardcast/wardcast/"

// No exported name of a public package has, accepts or returns a type of internal/, so other modules can call all of
// them.
func TestPublicAPINamesNoInternalTypes(t *testing.T) {
	if os.Getenv("WARDCAST_LONG") == "" {
		t.Skip("it builds every package: WARDCAST_LONG=1 runs it")
	}
	t.Parallel()
	list := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-f",
		"{{.ImportPath}}\t{{.Export}}", module+"...")
	var stderr bytes.Buffer
	list.Stderr = &stderr
	lines, err := list.Output()
	if err != nil {
		t.Fatalf("listing packages: %v\n%s", err, &stderr)
	}
	exports := map[string]string{}
	var public []string
	for line := range strings.Lines(string(lines)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if file == "" { // a package of test files only
			continue
		}
		exports[path] = file
		if strings.HasPrefix(path, module) && !isInternal(path) && !strings.HasPrefix(path, module+"cmd/") {
			public = append(public, path)
		}
	}
	if len(public) < 15 {
		t.Fatalf("only %d public packages", len(public))
	}
	load := importer.ForCompiler(token.NewFileSet(), "gc",
		func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for _, path := range public {
		pkg, err := load.Import(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range pkg.Scope().Names() {
			if object := pkg.Scope().Lookup(name); object.Exported() {
				w := walker{pkg: pkg, seen: map[types.Type]bool{}, report: func(of *types.TypeName) {
					t.Errorf("%s.%s names %s.%s", strings.TrimPrefix(path, module), name, of.Pkg().Path(), of.Name())
				}}
				w.object(object)
			}
		}
	}
}

func isInternal(path string) bool { return strings.Contains(path+"/", "/internal/") }

// walker visits the types that a caller of an exported name meets.
type walker struct {
	pkg    *types.Package
	seen   map[types.Type]bool
	report func(*types.TypeName)
}

func (w *walker) object(o types.Object) {
	w.visit(o.Type())
	named, ok := types.Unalias(o.Type()).(*types.Named)
	if _, isType := o.(*types.TypeName); !isType || !ok {
		return
	}
	w.visit(named.Underlying())
	methods := types.NewMethodSet(types.NewPointer(named))
	for method := range methods.Methods() {
		if m := method.Obj(); m.Exported() {
			w.visit(m.Type())
		}
	}
}

func (w *walker) visit(t types.Type) {
	if t == nil || w.seen[t] {
		return
	}
	w.seen[t] = true
	switch t := t.(type) {
	case *types.Alias:
		w.named(t.Obj())
		w.visit(types.Unalias(t))
	case *types.Named:
		w.named(t.Obj())
		for t0 := range t.TypeArgs().Types() {
			w.visit(t0)
		}
	case *types.Signature:
		w.visit(t.Params())
		w.visit(t.Results())
	case *types.Tuple:
		for v := range t.Variables() {
			w.visit(v.Type())
		}
	case *types.Struct:
		for f := range t.Fields() {
			if f.Exported() {
				w.visit(f.Type())
			}
		}
	case *types.Interface:
		for method := range t.Methods() {
			w.visit(method.Type())
		}
	case *types.Map:
		w.visit(t.Key())
		w.visit(t.Elem())
	case interface{ Elem() types.Type }: // pointers, slices, arrays, channels
		w.visit(t.Elem())
	case *types.TypeParam:
		w.visit(t.Constraint())
	case *types.Basic, *types.Union:
	default:
		panic(fmt.Sprintf("a %T in a signature", t))
	}
}

func (w *walker) named(of *types.TypeName) {
	if of.Pkg() != nil && strings.HasPrefix(of.Pkg().Path(), module) && isInternal(of.Pkg().Path()) {
		w.report(of)
	}
}
