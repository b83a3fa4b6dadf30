package config

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/wardcast/wardcast/internal/lists"
)

// value is a value of the file with its key, for example kafka.topics.notes.
type value struct {
	key  string
	node *yaml.Node
}

// values returns all values of a document, none if it is not YAML.
func values(document []byte) (all []value) {
	var root yaml.Node
	if yaml.Unmarshal(document, &root) != nil {
		return nil
	}
	var add func(key string, n *yaml.Node)
	add = func(key string, n *yaml.Node) {
		if key != "" {
			all = append(all, value{key, n})
			key += "."
		}
		for i, inner := range n.Content {
			if n.Kind == yaml.SequenceNode {
				add(fmt.Sprintf("%s[%d]", strings.TrimSuffix(key, "."), i), inner)
			} else if n.Kind == yaml.MappingNode && i%2 == 1 {
				add(key+n.Content[i-1].Value, inner)
			}
		}
	}
	for _, n := range root.Content {
		add("", n)
	}
	return all
}

// located prepends the line to each error whose key, or a section of it, is in the file.
func located(errs []error, found []value) []error {
	lines := map[string]int{}
	for _, v := range found {
		lines[v.key] = v.node.Line
	}
	out := make([]error, len(errs))
	for i, err := range errs {
		out[i] = err
		for key, _, _ := strings.Cut(err.Error(), ": "); key != ""; key = key[:max(0, strings.LastIndex(key, "."))] {
			if line := lines[key]; line > 0 {
				out[i] = fmt.Errorf("line %d: %w", line, err)
				break
			}
		}
	}
	return out
}

var wrongType = regexp.MustCompile("^line ([0-9]+): cannot unmarshal (!![a-z]+)(?: `(.*)`)? into (.*)")

// kinds are what the values of a type are, by how its name or yaml's tag begins; other types are sections.
var kinds = [][2]string{
	{"time.Duration", "a duration, such as 30s or 5m"},
	{"[]", "a list"},
	{"!!seq", "a list"},
	{"int", "a whole number"},
	{"float", "a number"},
	{"bool", "true or false"},
	{"string", "text"},
	{"!!str", "text"},
	{"", "a section of keys"},
}

func kind(name string) string {
	return kinds[slices.IndexFunc(kinds, func(k [2]string) bool { return strings.HasPrefix(name, k[0]) })][1]
}

// named says yaml's message about a value of the wrong type in plain words, and adds the key unless it is ambiguous.
func named(message string, found []value) string {
	said := wrongType.FindStringSubmatch(message)
	if said == nil {
		return message
	}
	key := ""
	for _, v := range found {
		if strconv.Itoa(v.node.Line) != said[1] || v.node.ShortTag() != said[2] ||
			!strings.HasPrefix(v.node.Value, strings.TrimSuffix(said[3], "...")) {
			continue
		}
		inside := strings.HasPrefix(v.key, key+".") || strings.HasPrefix(v.key, key+"[")
		if key != "" && !inside { // a section begins on the line of its first key
			key = ""
			break
		}
		key = v.key
	}
	if key != "" {
		key += ": "
	}
	is := strconv.Quote(said[3])
	if said[3] == "" {
		is = kind(said[2])
	}
	return fmt.Sprintf("line %s: %s%s is not %s", said[1], key, is, kind(said[4]))
}

var unknownField = regexp.MustCompile(`field (\S+) not found in type \w+\.(\w+)`)

// explain rewrites yaml's errors about unknown keys and values of the wrong type.
func explain(err error, found []value) error {
	t, ok := errors.AsType[*yaml.TypeError](err)
	if !ok {
		return err
	}
	var errs []error
	for _, line := range t.Errors {
		line = named(line, found)
		errs = append(errs, errors.New(unknownField.ReplaceAllStringFunc(line, func(s string) string {
			found := unknownField.FindStringSubmatch(s)
			known := keys(reflect.TypeFor[Config](), found[2])
			if len(known) == 0 { // nothing to suggest: the type has no name
				return fmt.Sprintf("unknown key %q", found[1])
			}
			return fmt.Sprintf("unknown key %q; the nearest known key is %q", found[1], nearest(found[1], known))
		})))
	}
	return errors.Join(errs...)
}

// keys returns the YAML keys of the type with this name within t.
func keys(t reflect.Type, name string) []string {
	if t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	var own []string
	for f := range t.Fields() {
		own = append(own, f.Tag.Get("yaml"))
		if inner := keys(f.Type, name); inner != nil {
			return inner
		}
	}
	if t.Name() == name {
		return slices.DeleteFunc(own, func(key string) bool { return key == "-" }) // no key
	}
	return nil
}

// nearest returns the first key of the smallest edit distance to s.
func nearest(s string, keys []string) string {
	return slices.MinFunc(keys, func(a, b string) int { return cmp.Compare(edits(s, a), edits(s, b)) })
}

// edits is the Levenshtein distance of a and b.
func edits(a, b string) int {
	row := lists.Make(len(b)+1, func(j int) int { return j })
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
