package topicindex

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/blevesearch/bleve/v2/search"
	index "github.com/blevesearch/bleve_index_api"

	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/solver/linalg"
)

// facetFields are the fields by whose values results are counted and restricted.
var facetFields = [...]string{fieldComplaint, fieldModel, fieldVersion, fieldDirection, fieldMethod, fieldStatus}

// Places in facetFields.
const (
	complaintFacet = 0
	modelFacet     = 1
	versionFacet   = 2
	statusFacet    = 5
)

// facts are what every search asks of every document, read once: unpacking them takes long.
type facts struct {
	documents []fact // by bleve's number, which does not change in an index that is only read
	values    [len(facetFields)][]string
	codes     [len(facetFields)]map[string]int32
}

type fact struct {
	id     string
	topic  bool                    // not a version
	shared bool                    // another document stands for it
	number int                     // of the topic in its version, from 1
	values [len(facetFields)]int32 // -1 for none
	place  string                  // among all, by fieldOrder
}

func readFacts(advanced index.Index) (_ *facts, err error) {
	r, err := advanced.Reader()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	values, err := r.DocValueReader(append([]string{fieldKind, fieldShared, fieldOrder, fieldNumber},
		facetFields[:]...))
	if err != nil {
		return nil, err
	}
	ids, err := r.DocIDReaderAll()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, ids.Close()) }()
	f := &facts{}
	for i := range f.codes {
		f.codes[i] = map[string]int32{}
	}
	for {
		id, err := ids.Next()
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if id == nil {
			break
		}
		if id.Value() != uint64(len(f.documents)) {
			return nil, fmt.Errorf("%w: number %d", errSource, id.Value())
		}
		d := fact{}
		if d.id, err = r.ExternalID(id); err != nil {
			return nil, err
		}
		for i := range d.values {
			d.values[i] = -1
		}
		if err := values.VisitDocValues(id, func(field string, value []byte) { f.note(&d, field, value) }); err != nil {
			return nil, err
		}
		f.documents = append(f.documents, d)
	}
	f.arrange()
	return f, nil
}

func (f *facts) note(d *fact, field string, value []byte) {
	switch field {
	case fieldKind:
		d.topic = string(value) == kindTopic
	case fieldShared:
		d.shared = true
	case fieldOrder:
		d.place = string(value)
	case fieldNumber:
		d.number, _ = strconv.Atoi(string(value)) // as build wrote it
	default:
		i := slices.Index(facetFields[:], field)
		code, seen := f.codes[i][string(value)]
		if !seen {
			code = int32(len(f.values[i]))
			f.values[i] = append(f.values[i], string(value))
			f.codes[i][string(value)] = code
		}
		d.values[i] = code
	}
}

// value returns a value of a document, by its place in facetFields; "" for none.
func (f *facts) value(d *fact, field int) string {
	if d.values[field] < 0 {
		return ""
	}
	return f.values[field][d.values[field]]
}

// find returns the number of the document of a topic. The error wraps ErrQuery if there is none.
func (f *facts) find(r *Ref) (int, error) {
	best := -1
	for i := range f.documents {
		d := &f.documents[i]
		if !d.topic || d.number != r.Topic || f.value(d, modelFacet) != r.Model || r.Version != "" &&
			f.value(d, versionFacet) != r.Version {
			continue
		}
		if best < 0 || d.place < f.documents[best].place {
			best = i
		}
	}
	if best < 0 {
		return -1, fmt.Errorf("%w: topic not found; \"wardcast topics list\" shows the topics", ErrQuery)
	}
	return best, nil
}

// arrange makes short names of the places, in the same order.
func (f *facts) arrange() {
	for place, i := range linalg.Order(len(f.documents), func(a, b int) int {
		return cmp.Compare(f.documents[a].place, f.documents[b].place)
	}) {
		var name [4]byte
		binary.BigEndian.PutUint32(name[:], uint32(place))
		f.documents[i].place = string(name[:])
	}
}

// counter keeps the topics that a query restricts its results to, and counts them by their values.
type counter struct {
	facts  *facts
	want   [len(facetFields)]int32 // -1 for any
	none   bool                    // a value that no topic has is wanted
	except int                     // number of a document to leave out, -1 for none
	counts [len(facetFields)][]int
}

// newCounter counts topics with these values, in the order of facetFields ("" is any), and leaves one document out.
func newCounter(f *facts, want [len(facetFields)]string, except int) *counter {
	c := &counter{facts: f, except: except}
	for i, value := range want {
		c.counts[i] = make([]int, len(f.values[i]))
		code, has := f.codes[i][value]
		switch {
		case value == "":
			code = -1
		case !has:
			c.none = true
		}
		c.want[i] = code
	}
	return c
}

// keep reports whether a document is wanted, and counts it. It is a searcher.CustomFilterFunc.
func (c *counter) keep(_ context.Context, d *search.DocumentMatch) (bool, error) {
	number := d.IndexInternalID.Value()
	f := &c.facts.documents[number]
	if c.none || !f.topic || c.except >= 0 && number == uint64(c.except) {
		return false, nil
	}
	for i, want := range c.want {
		if want >= 0 && f.values[i] != want {
			return false, nil
		}
	}
	// A topic that models share is one result, unless one of them is asked for, and counts for each of them.
	once := f.shared && max(c.want[complaintFacet], c.want[modelFacet], c.want[versionFacet]) < 0
	for i, value := range f.values {
		if value >= 0 && (!once || i <= versionFacet) {
			c.counts[i][value]++
		}
	}
	return !once, nil
}

func (c *counter) facets() Facets {
	var all [len(facetFields)][]Facet
	for i, counts := range c.counts {
		all[i] = []Facet{}
		for value, n := range counts {
			if n > 0 {
				all[i] = append(all[i], Facet{c.facts.values[i][value], n})
			}
		}
		slices.SortFunc(all[i],
			func(a, b Facet) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Value, b.Value)) })
		all[i] = all[i][:min(len(all[i]), facetValues)]
	}
	return Facets{Complaint: all[0], Model: all[1], Version: all[2], Direction: all[3], Method: all[4], Status: all[5]}
}

// place sorts by fieldOrder. It is a search.SearchSort, for the rest like that by identifiers.
type place struct {
	search.SortDocID
	facts *facts
}

func (p *place) Value(d *search.DocumentMatch) string {
	return p.facts.documents[d.IndexInternalID.Value()].place
}
func (*place) RequiresDocID() bool       { return false }
func (p *place) Copy() search.SearchSort { return p }

// served sorts the topics of served models, and factors, before the others.
type served struct{ place }

func (p *served) Value(d *search.DocumentMatch) string {
	f := &p.facts.documents[d.IndexInternalID.Value()]
	if p.facts.value(f, statusFacet) == string(models.ChampionStatus) {
		return "0"
	}
	return "1"
}
func (p *served) Copy() search.SearchSort { return p }
