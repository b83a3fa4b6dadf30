package msg

import (
	"embed"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// schema holds the keywords of JSON Schema that our schemas use.
type schema struct {
	Schema      string            `json:"$schema"`
	ID          string            `json:"$id"`
	Title       string            `json:"title"`
	Description string            `json:"description"`
	Format      string            `json:"format"`
	Type        types             `json:"type"`
	Enum        []string          `json:"enum"`
	Required    []string          `json:"required"`
	Properties  map[string]schema `json:"properties"`
	Items       *schema           `json:"items"`
	Additional  *schema           `json:"additionalProperties"`
	Names       *schema           `json:"propertyNames"`
	MinProps    int               `json:"minProperties"`
	Pattern     string            `json:"pattern"`
	MinLength   int               `json:"minLength"`
	MaxLength   *int              `json:"maxLength"`
	Minimum     *float64          `json:"minimum"`
	Maximum     *float64          `json:"maximum"`
}

type types []string

func (t *types) UnmarshalJSON(data []byte) error {
	if data[0] == '[' {
		return json.Unmarshal(data, (*[]string)(t))
	}
	*t = make(types, 1)
	return json.Unmarshal(data, &(*t)[0])
}

func parseSchema(t *testing.T, text string) schema {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	var s schema
	if err := dec.Decode(&s); err != nil {
		t.Fatal(err)
	}
	return s
}

// validate returns what in the document the schema forbids.
func validate(t *testing.T, text string, document []byte) []string {
	t.Helper()
	var v any
	if err := json.Unmarshal(document, &v); err != nil {
		t.Fatal(err)
	}
	return parseSchema(t, text).problems("$", v)
}

func (s schema) problems(at string, v any) (found []string) {
	report := func(format string, args ...any) { found = append(found, at+": "+fmt.Sprintf(format, args...)) }
	kind := map[reflect.Kind]string{
		reflect.String: "string", reflect.Float64: "number", reflect.Bool: "boolean",
		reflect.Map: "object", reflect.Slice: "array", reflect.Invalid: "null",
	}[reflect.ValueOf(v).Kind()]
	f, _ := v.(float64)
	if s.Type != nil && !slices.Contains(s.Type, kind) &&
		!(kind == "number" && f == math.Trunc(f) && slices.Contains(s.Type, "integer")) {
		report("%s instead of %v", kind, s.Type)
	}
	switch v := v.(type) {
	case string:
		if s.Enum != nil && !slices.Contains(s.Enum, v) {
			report("%q is not one of %q", v, s.Enum)
		}
		if !regexp.MustCompile(s.Pattern).MatchString(v) {
			report("%q does not match %s", v, s.Pattern)
		}
		if n := utf8.RuneCountInString(v); n < s.MinLength || s.MaxLength != nil && n > *s.MaxLength {
			report("%d characters", n)
		}
	case float64:
		if s.Minimum != nil && v < *s.Minimum || s.Maximum != nil && v > *s.Maximum {
			report("%v is out of range", v)
		}
	case []any:
		for i, x := range v {
			if s.Items != nil {
				found = append(found, s.Items.problems(fmt.Sprintf("%s[%d]", at, i), x)...)
			}
		}
	case map[string]any:
		for _, name := range s.Required {
			if _, ok := v[name]; !ok {
				report("%s is missing", name)
			}
		}
		if len(v) < s.MinProps {
			report("%d properties", len(v))
		}
		for name, x := range v {
			if s.Names != nil {
				found = append(found, s.Names.problems(at+": name", name)...)
			}
			p, ok := s.Properties[name]
			if !ok && s.Additional != nil {
				p, ok = *s.Additional, true
			}
			if !ok && s.Type != nil {
				report("%s is not described", name)
			}
			found = append(found, p.problems(at+"."+name, x)...)
		}
	}
	return found
}

// TestSchemasDescribeEveryField holds the properties against the Go types.
func TestSchemasDescribeEveryField(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		schema string
		typ    reflect.Type
	}{
		{Schema("note"), reflect.TypeFor[Note]()},
		{Schema("outcome"), reflect.TypeFor[Outcome]()},
		{Schema("prediction"), reflect.TypeFor[Prediction]()},
		{Schema("champion"), reflect.TypeFor[Champion]()},
		{Schema("bed-demand"), reflect.TypeFor[BedDemand]()},
		{Schema("response"), reflect.TypeFor[Response]()},
		{Schema("scores"), reflect.TypeFor[Scores]()},
	} {
		s := parseSchema(t, c.schema)
		if s.Schema != "https://json-schema.org/draft/2020-12/schema" || s.ID == "" || s.Title == "" {
			t.Errorf("%v: head of the schema", c.typ)
		}
		compareFields(t, c.typ.Name(), s, c.typ)
	}
}

func compareFields(t *testing.T, at string, s schema, typ reflect.Type) {
	t.Helper()
	if s.Additional != nil && slices.Contains([]reflect.Type{
		reflect.TypeFor[[]Answer](), reflect.TypeFor[[]Confound](), reflect.TypeFor[Fields](),
	}, typ) {
		return // an object of their names
	}
	if typ.Kind() == reflect.Slice {
		if s.Items == nil {
			t.Errorf("%s has no items", at)
			return
		}
		compareFields(t, at+"[]", *s.Items, typ.Elem())
		return
	}
	if typ.Kind() != reflect.Struct || typ == reflect.TypeFor[Optional]() || typ == reflect.TypeFor[Value]() {
		return
	}
	fields := 0
	for field := range typ.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		fields++
		p, ok := s.Properties[name]
		if !ok {
			t.Errorf("%s.%s is not in the schema", at, name)
		}
		compareFields(t, at+"."+name, p, field.Type)
	}
	if fields != len(s.Properties) {
		t.Errorf("%s: %d fields, %d properties", at, fields, len(s.Properties))
	}
}

func TestSchemasRefuse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ schema, document string }{
		"note without text": {Schema("note"), `{"schema_version":"1","visit_id":"v"}`},
		"note of version 2": {Schema("note"), `{"schema_version":"2","visit_id":"v","text":"x"}`},
		"age in words":      {Schema("note"), `{"schema_version":"1","visit_id":"v","text":"x","age":"old"}`},
		"unknown outcome":   {Schema("outcome"), `{"schema_version":"1","visit_id":"v","disposition":"eaten"}`},
		"unknown status": {
			Schema("outcome"), `{"schema_version":"1","visit_id":"v","disposition":"left","status":"maybe"}`,
		},
		"half a prediction": {Schema("prediction"), `{"schema_version":"1","visit_id":"v"}`},
		"against nothing": {Schema("prediction"), goldenWith(t, "classes", `"against":"discharged"`,
			`"against":""`)},
		"a class, no probability": {Schema("prediction"), goldenWith(t, "classes",
			`{"class":"transferred","probability":0.83}`, `{"class":"transferred"}`)},
		"admission more than sure": {Schema("prediction"), goldenWith(t, "classes", `"admission_probability":0.9`,
			`"admission_probability":1.1`)},
		"a warning of no kind": {Schema("prediction"), goldenWith(t, "prediction", `"code":"unknown_level"`,
			`"code":"strange"`)},
		"prediction of text": {Schema("prediction"), `"x"`},
		"a champion of nothing": {
			Schema("champion"), `{"schema_version":"1","generation":"g","model":{"name":"_other"}}`,
		},
		"response without answers": {Schema("response"), `{"schema_version":"1","response_id":"r","instrument":"bfi"}`},
		"no answers": {
			Schema("response"), `{"schema_version":"1","response_id":"r","instrument":"bfi","answers":{}}`,
		},
		"an item's endless name": {Schema("response"), `{"schema_version":"1","response_id":"r","instrument":"bfi",` +
			`"answers":{"` + strings.Repeat("A", MaxField+1) + `":4}}`},
		"half a message of scores": {Schema("scores"), `{"schema_version":"1","response_id":"r","instrument":"bfi"}`},
		"less than no error": {
			Schema("scores"), goldenWith(t, "scores", `"standard_error":0.25`, `"standard_error":-0.25`),
		},
		"a factor without score": {Schema("scores"), goldenWith(t, "scores", `"score":0.31,`, ``)},
		"half an item":           {Schema("scores"), goldenWith(t, "scores", `"items":25`, `"items":24.5`)},
		"a model without digest": {Schema("scores"), goldenWith(t, "scores", `"sha256":"3f`, `"sha256":"`)},
	} {
		if validate(t, c.schema, []byte(c.document)) == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

// TestSchemaLetsPassWhatIsIgnored: the schema does not know the items and
// confounds of a model, and one that refused what is ignored would lose it.
func TestSchemaLetsPassWhatIsIgnored(t *testing.T) {
	t.Parallel()
	for _, v := range []string{`true`, `"felt ok"`, `"` + strings.Repeat("x", MaxField+1) + `"`, `[1]`, `{"a":1}`} {
		document := []byte(responseWith(`"answers":{"A1":4,"x":` + v + `},"confounds":{"age":9,"x":` + v + `}`))
		if err := DecodeResponse(document, new(Response)); err != nil {
			t.Errorf("%s: %v", document, err)
		}
		for _, problem := range validate(t, Schema("response"), document) {
			t.Error(problem)
		}
	}
}

// goldenWith is a golden file with one part replaced.
func goldenWith(t *testing.T, name, part, by string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), part) {
		t.Fatalf("%s is not in %s", part, name)
	}
	return strings.Replace(string(data), part, by, 1)
}

//go:embed schema/*.json
var schemas embed.FS

// Schema returns the JSON Schema (draft 2020-12) of a kind of message: note, outcome, prediction, champion, bed-demand,
// response or scores; "" for any other.
func Schema(kind string) string {
	data, err := schemas.ReadFile("schema/" + kind + ".json")
	if err != nil {
		return ""
	}
	return string(data)
}
