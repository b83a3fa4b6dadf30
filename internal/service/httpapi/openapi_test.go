package httpapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/wardcast/wardcast/internal/service/httpapi"
)

// openAPI is docs/openapi.yaml.
type openAPI struct {
	testing.TB
	document map[string]any
	compiler *jsonschema.Compiler
}

// address is what the document is known by to the compiler of schemas, which finds those of messages beside it.
const address = "file:///docs/openapi.json"

func readOpenAPI(t *testing.T) *openAPI {
	t.Helper()
	data, err := os.ReadFile("../../../docs/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	o := &openAPI{TB: t, compiler: jsonschema.NewCompiler()}
	if err := yaml.Unmarshal(data, &o.document); err != nil {
		t.Fatal(err)
	}
	asJSON, err := json.Marshal(o.document)
	if err != nil {
		t.Fatal(err)
	}
	resource := func(url string, data []byte) {
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		if err == nil {
			err = o.compiler.AddResource(url, v)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	resource(address, asJSON)
	for _, name := range []string{"note", "prediction"} {
		data, err := os.ReadFile("../../../ingest/msg/schema/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		resource("file:///ingest/msg/schema/"+name+".json", data)
	}
	o.compiler.AssertFormat()
	return o
}

// at follows a path of keys, and references to components.
func (o *openAPI) at(keys ...string) (value map[string]any, pointer string) {
	o.Helper()
	value = o.document
	for _, key := range keys {
		next, ok := value[key].(map[string]any)
		if !ok {
			o.Fatalf("%s of %v: %v", key, keys, value[key])
		}
		value, pointer = next,
			pointer+"/"+strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(key)
		if ref, ok := value["$ref"].(string); ok && strings.HasPrefix(ref, "#/components/responses/") {
			value, pointer = o.at(strings.Split(ref[2:], "/")...)
		}
	}
	return value, pointer
}

// check holds a value against the schema of a content.
func (o *openAPI) check(what, pointer string, data []byte) {
	o.Helper()
	schema, err := o.compiler.Compile(address + "#" + pointer + "/schema")
	if err != nil {
		o.Fatalf("%s: %v", what, err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		o.Fatalf("%s: %v", what, err)
	}
	if err := schema.Validate(v); err != nil {
		o.Errorf("%s: %v\n%s", what, err, data)
	}
}

// examples checks the examples below a node.
func (o *openAPI) examples(node map[string]any, pointer string) (checked int) {
	o.Helper()
	for key, v := range node {
		below, ok := v.(map[string]any)
		if !ok {
			continue
		}
		at := pointer + "/" + strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(key)
		if example, ok := below["example"]; ok && strings.Contains(key, "json") {
			data, err := json.Marshal(example)
			if err != nil {
				o.Fatal(err)
			}
			o.check("the example of "+at, at, data)
			checked++
		}
		checked += o.examples(below, at)
	}
	return checked
}

func TestOpenAPI(t *testing.T) {
	t.Parallel()
	o := readOpenAPI(t)
	if o.document["openapi"] != "3.1.0" {
		t.Errorf("version %v", o.document["openapi"])
	}
	s := newSite(t, nil)
	var served, described []string
	for _, p := range s.api.Patterns() {
		served = append(served, strings.ToLower(p))
	}
	paths, _ := o.at("paths")
	for path, methods := range paths {
		methods := methods.(map[string]any)
		if methods["servers"] != nil { // those of the bridge
			continue
		}
		for method := range methods {
			described = append(described, method+" "+path)
		}
	}
	slices.Sort(served)
	slices.Sort(described)
	same(t, "routes described and served", described, served)
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "api.md"))
	if err != nil {
		t.Fatal(err)
	}
	for path := range paths {
		if !strings.Contains(string(page), path) {
			t.Errorf("docs/api.md lacks %s", path)
		}
	}
	if n := o.examples(o.document, ""); n < 15 {
		t.Errorf("%d examples checked", n)
	}
}

// TestAnswersAreDescribed holds real answers of every route against the document.
func TestAnswersAreDescribed(t *testing.T) {
	t.Parallel()
	o := readOpenAPI(t)
	s := newSite(t, func(o *httpapi.Options) {
		o.Waiting, o.LabelRoles = &waiters{list: twoWait()}, []httpapi.Role{httpapi.Operator}
	})
	third := value[listed](s, "generations", s.ask("GET /v1/generations", "", nil)).Generations[2].Name
	seen := map[string]bool{}
	for _, c := range []struct{ what, path, body string }{
		{"POST /v1/predictions", "/v1/predictions", note},
		{"POST /v1/predictions", "/v1/predictions", "x"},
		{"POST /v1/predictions", "/v1/predictions", `{"visit_id":"a"}`},
		{"HEAD /v1/predictions/stream", "/v1/predictions/stream", ""},
		{"GET /v1/predictions/stream?recent=x", "/v1/predictions/stream", ""},
		{"GET /v1/models", "/v1/models", ""},
		{"GET /v1/models/_other/topics", "/v1/models/{model}/topics", ""},
		{"GET /v1/models/none/topics", "/v1/models/{model}/topics", ""},
		{"GET /v1/topics/search?q=hip", "/v1/topics/search", ""},
		{"GET /v1/topics/first-seen?word=hip", "/v1/topics/first-seen", ""},
		{"GET /v1/topics/history?topic=_other/1", "/v1/topics/history", ""},
		{"GET /v1/bed-demand", "/v1/bed-demand", ""},
		{"GET /v1/bed-demand?x", "/v1/bed-demand", ""},
		{"GET /v1/bed-demand/history?ward=MED", "/v1/bed-demand/history", ""},
		{"GET /v1/waiting", "/v1/waiting", ""},
		{"GET /v1/waiting?sort=x", "/v1/waiting", ""},
		{"POST /v1/generations/" + third + "/promote", "/v1/generations/{generation}/promote", reason},
		{"POST /v1/generations/" + third + "/promote", "/v1/generations/{generation}/promote", reason},
		{"POST /v1/rollback", "/v1/rollback", reason},
		{"POST /v1/rollback", "/v1/rollback", "{}"},
		{"POST /v1/rollback", "/v1/rollback", ""},
		{"GET /v1/generations", "/v1/generations", ""},
		{"GET /v1/history", "/v1/history", ""},
		{"GET /v1/history?x=1", "/v1/history", ""},
		{"GET /healthz", "/healthz", ""},
		{"GET /readyz", "/readyz", ""},
		{"GET /metrics", "/metrics", ""},
	} {
		got := s.ask(c.what, c.body, nil)
		method := strings.ToLower(strings.Fields(strings.Replace(c.what, "HEAD", http.MethodGet, 1))[0])
		kind, _, _ := strings.Cut(got.header.Get("Content-Type"), ";")
		_, pointer := o.at("paths", c.path, method, "responses", fmt.Sprint(got.status), "content", kind)
		if strings.HasSuffix(kind, "json") {
			o.check(fmt.Sprintf("%s, %d", c.what, got.status), pointer, []byte(got.body))
		}
		seen[method+" "+c.path] = true
	}
	if len(seen) != len(s.api.Patterns()) {
		t.Errorf("%d of %d routes asked", len(seen), len(s.api.Patterns()))
	}
}
