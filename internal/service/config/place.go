package config

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
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
