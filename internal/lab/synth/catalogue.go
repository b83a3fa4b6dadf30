package synth

import (
	"bytes"
	_ "embed" // for the catalogue
	"fmt"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

//go:embed catalogue.yaml
var catalogueYAML []byte

// catalogue is the content of catalogue.yaml, which explains the fields.
type catalogue struct {
	Durations, Denials, Fillers, Leads, Joints, Rewordings []string

	Shared     []theme
	Complaints []presentation
}

// presentation is a presenting complaint with its themes.
type presentation struct {
	Name             string
	Weight           float64
	Base             float64
	Age, Spread      float64
	Children, Female float64
	Wards            []ward
	Openings         []phrase
	Themes           []theme
}

// ward takes a share of a complaint's admitted adults.
type ward struct {
	Name  string
	Share float64
}

// theme is a topic: its phrases and the effects of a mention.
type theme struct {
	Name        string
	Who         ages
	Weight      float64
	Coefficient float64
	Vitals      shift
	Phrases     []phrase
}

// shift is what a mention of a topic adds to the vital signs.
type shift struct{ HR, SBP, RR, Temp, SpO2 float64 }

// ages are the patients that a theme applies to: children, adults, or everybody if empty.
type ages string

func (a ages) suits(age float64) bool { return a == "" || (a == "adults") == (age >= 18) }

// phrase is a sequence of parts, each with its alternatives.
type phrase [][]string

// UnmarshalText reads "fixed text (one|another)".
func (p *phrase) UnmarshalText(b []byte) error {
	for text := string(b); text != ""; {
		fixed, rest, found := strings.Cut(text, "(")
		if fixed != "" {
			*p = append(*p, []string{fixed})
		}
		if found {
			var alternatives string
			alternatives, rest, _ = strings.Cut(rest, ")")
			*p = append(*p, strings.Split(alternatives, "|"))
		}
		text = rest
	}
	return nil
}

// readCatalogue returns the catalogue. Do not modify it.
var readCatalogue = sync.OnceValues(func() (*catalogue, error) {
	c := &catalogue{}
	return c, readYAML(catalogueYAML, c)
})

// readYAML reads an embedded file and rejects unknown keys.
func readYAML(data []byte, v any) error {
	d := yaml.NewDecoder(bytes.NewReader(data))
	d.KnownFields(true)
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("reading the catalogue: %w", err)
	}
	return nil
}
