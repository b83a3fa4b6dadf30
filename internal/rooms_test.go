package internal_test

import (
	"cmp"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/wardcast/wardcast/"

// packages returns what each package imports, for all packages that this module links.
func packages(t *testing.T) map[string][]string {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f",
		`{{.ImportPath}} {{join .Imports " "}}`, module+"...")
	list.Stderr = os.Stderr
	list.Env = append(os.Environ(), "GOWORK=off") // a workspace may hold other modules
	out, err := list.Output()
	if err != nil {
		t.Fatalf("listing packages: %v", err)
	}
	imports := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		path, list, _ := strings.Cut(strings.TrimSpace(line), " ")
		imports[path] = strings.Fields(list)
	}
	return imports
}

// linked returns the packages that a binary with these packages holds, each with one that imports it.
func linked(imports map[string][]string, roots []string) map[string]string {
	by := map[string]string{}
	for len(roots) > 0 {
		root := roots[0]
		roots = roots[1:]
		for _, path := range imports[root] {
			if _, known := by[path]; !known {
				by[path] = root
				roots = append(roots, path)
			}
		}
	}
	return by
}

// within reports whether a path is one of the patterns, which are packages or, ending in "/...", folders of this module
// unless their first element has a dot.
func within(path string, patterns ...string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		if first, _, _ := strings.Cut(pattern, "/"); !strings.Contains(first, ".") {
			pattern = module + pattern
		}
		folder, all := strings.CutSuffix(pattern, "/...")
		return path == folder || all && strings.HasPrefix(path, folder+"/")
	})
}

// TestLinks holds what the packages of a process must not bring with them, however indirectly.
func TestLinks(t *testing.T) {
	t.Parallel()
	kernels, leastSquares := []string{"solver/matrix", "solver/linalg", "solver/matrix/safetensors"},
		[]string{"solver", "solver/icqf", "solver/linalg/eap"}
	imports := packages(t)
	all := slices.Collect(maps.Keys(imports))
	for _, promise := range []struct {
		why     string
		of, not []string
		but     []string
	}{
		{
			why: "a note is scored without a solver",
			of: []string{
				"textproc/...", "ingest/...", "classifier", "internal/service/scoring", "internal/service/config",
			},
			not: []string{"solver/...", "models/train", "models/retrain"},
			but: kernels,
		}, {
			why: "serve never trains; it scores responses: least squares in a box, or a posterior mean",
			of:  []string{"internal/service/app"},
			not: []string{"solver/...", "models/train", "models/retrain"},
			but: append(leastSquares, kernels...),
		}, {
			why: "a response is scored without what fits, draws or writes models, and without those of notes",
			of:  []string{"internal/questionnaire/responses"},
			not: []string{
				"solver/...", "classifier/elasticnet", "models/...", "internal/questionnaire/answers",
				"github.com/gofrs/flock", "github.com/google/renameio/...",
			},
			but: append(leastSquares, kernels...),
		}, {
			why: "identifiers of patients do not pass the bridge",
			of:  []string{"internal/service/app", "models/retrain"},
			not: []string{"internal/bridge/...", "ingest/hl7/...", "ingest/fhir"},
		}, {
			why: "both programs share a command line, and papers has no use for what wardcast does",
			of:  []string{"internal/cli/..."},
			not: []string{"classifier/...", "ingest/...", "internal/...", "models/...", "solver/...", "textproc/..."},
			but: []string{"internal/cli", "internal/wording"},
		},
	} {
		for _, pattern := range slices.Concat(promise.of, promise.not, promise.but) {
			if !slices.ContainsFunc(all, func(path string) bool { return within(path, pattern) }) {
				t.Errorf("no package is %s: %s", pattern, promise.why)
			}
		}
		var roots []string
		for _, path := range all {
			if within(path, promise.of...) {
				roots = append(roots, path)
			}
		}
		by := linked(imports, roots)
		broken := func(path string) bool { return within(path, promise.not...) && !within(path, promise.but...) }
		for _, path := range slices.Sorted(maps.Keys(by)) {
			if broken(path) && !broken(by[path]) { // the first on the way says it all
				t.Errorf("%v must not link %s, which %s imports: %s", promise.of, path, by[path], promise.why)
			}
		}
	}
}

// room returns the folder that a package of this module stands in: the first, or the first two of internal and cmd.
func room(path string) string {
	names := strings.Split(strings.TrimPrefix(path, module), "/")
	if names[0] == "internal" || names[0] == "cmd" {
		return strings.Join(names[:min(2, len(names))], "/")
	}
	return names[0]
}

// TestNoCircles: if a room imports another, however indirectly, the other does not import it.
func TestNoCircles(t *testing.T) {
	t.Parallel()
	rooms, example := map[string][]string{}, map[[2]string]string{}
	for path, imports := range packages(t) {
		for _, other := range imports {
			from, to := room(path), room(other)
			if !strings.HasPrefix(path, module) || !strings.HasPrefix(other, module) || from == to {
				continue
			}
			if arrow := [2]string{from, to}; example[arrow] == "" {
				rooms[from] = append(rooms[from], to)
				example[arrow] = path + " imports " + other
			}
		}
	}
	arrows := slices.SortedFunc(maps.Keys(example), func(a, b [2]string) int {
		return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]))
	})
	for _, arrow := range arrows {
		if _, back := linked(rooms, arrow[1:])[arrow[0]]; back {
			t.Errorf("%s and %s import each other: %s", arrow[0], arrow[1], example[arrow])
		}
	}
}

// TestRoomsSayWhyTheyAreHere: each room of internal says why it is none of the rooms beside internal.
func TestRoomsSayWhyTheyAreHere(t *testing.T) {
	t.Parallel()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		doc, err := os.ReadFile(filepath.Join(e.Name(), "doc.go"))
		if err != nil || !strings.Contains(string(doc), "\n// It stands in internal because ") {
			t.Errorf("doc.go of internal/%s does not say why \"It stands in internal because …\": %v", e.Name(), err)
		}
	}
}
