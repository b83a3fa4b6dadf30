package config

import (
	"fmt"
	"regexp"
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
		if n.Kind == yaml.MappingNode {
			for i := 0; i+1 < len(n.Content); i += 2 {
				add(key+n.Content[i].Value, n.Content[i+1])
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

var wrongType = regexp.MustCompile("^line ([0-9]+): cannot unmarshal (!![a-z]+)(?: `(.*)`)? into ")

// named adds the key to yaml's message about a value of the wrong type, unless it is ambiguous.
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
		if key != "" {
			return message
		}
		key = v.key
	}
	if key == "" {
		return message
	}
	return strings.Replace(message, ": ", ": "+key+": ", 1)
}
