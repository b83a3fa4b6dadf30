package topicindex

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/blevesearch/bleve/v2/document"
	index "github.com/blevesearch/bleve_index_api"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/textproc"
)

// The fields of the documents. Those of facets hold one whole value each.
const (
	fieldKind       = "kind" // kindTopic or kindVersion
	fieldModel      = "model"
	fieldVersion    = "version"
	fieldComplaint  = "complaint"
	fieldMethod     = "method"
	fieldStatus     = "status"
	fieldDirection  = "direction"
	fieldNumber     = "topic"
	fieldShared     = "shared"     // anything, if another document of the generation holds the same topic
	fieldOrder      = "order"      // ascending: served first, then the newest
	fieldWords      = "words"      // terms, by weight
	fieldSaid       = "said"       // forms in the notes, and their words, by weight
	fieldVocabulary = "vocabulary" // terms of a version that none before it has
	fieldSource     = "source"     // JSON of what a result shows, stored
	fieldRest       = "rest"       // JSON of the other words of a topic, stored
)

const (
	kindTopic   = "topic"
	kindVersion = "version"
)

const (
	weightScale = 1000 // makes a count of a weight; bleve scores with the square root of a count
	halfWeight  = 0.3  // K of the package comment: a word of this weight adds half of what it can add
	// otherStatus weighs a denied, possible or past finding in a search for the affirmed one, otherForm a form that is
	// not the commonest, partOfForm a word of a form.
	otherStatus   = 0.4
	otherForm     = 0.5
	partOfForm    = 0.5
	bm25K1, bm25B = 1.2, 0.75 // k1 and b of BM25, as bleve sets them
)

// weighted are the words of a field of a topic.
type weighted map[string]float64

// add raises the weight of a word to at least w.
func (ws weighted) add(word string, w float64) {
	if word != "" && w > ws[word] {
		ws[word] = w
	}
}

// found is a topic with the words that it is found by.
type found struct {
	id     string
	origin *Origin
	topic  *Topic
	fields map[string]weighted
	also   []string // other models of the generation that have the topic
	shared bool     // among also of another
}

// reader reads texts as textproc.Transformer does.
type reader interface {
	Tokens(text string) []textproc.Token
}

func (v *Version) topics(r reader) []found {
	all := make([]found, len(v.Topics))
	for i := range v.Topics {
		t := &v.Topics[i]
		f := found{id: fmt.Sprintf("%s/%d", v.id(), t.Topic.Topic), origin: &v.Origin, topic: t}
		said, terms := weighted{}, weighted{}
		f.fields = map[string]weighted{fieldWords: terms, fieldSaid: said}
		for i, term := range t.Terms {
			w := math.Abs(term.Weight) / t.Length
			addTerm(terms, term.Term, w)
			if i < shownTerms {
				terms.add(signed(&term), w)
			}
			addForm(said, term.Term, w)
			for j, form := range term.Surface {
				share := w
				if j > 0 {
					share *= otherForm
				}
				addForm(said, form, share)
				if v.Vocabulary == nil {
					for _, term := range termsOf(r, form) {
						addTerm(terms, term, share)
					}
				}
			}
		}
		all[i] = f
	}
	return all
}

// addTerm adds a term, and that without its status for searches that name none.
func addTerm(ws weighted, term string, w float64) {
	ws.add(term, w)
	if status, text := textproc.StatusOf(term); status != textproc.Affirmed {
		ws.add(text, otherStatus*w)
	}
}

// signed returns a term with the sign of its weight, by which topics are similar. No term of a note begins with a sign.
func signed(t *classifier.TopicTerm) string {
	if t.Weight < 0 {
		return "-" + t.Term
	}
	return "+" + t.Term
}

// addForm adds what nurses wrote, and its words.
func addForm(ws weighted, form string, w float64) {
	parts := words(form)
	ws.add(strings.Join(parts, " "), w)
	if len(parts) > 1 {
		for _, word := range parts {
			ws.add(word, partOfForm*w)
		}
	}
}

// termsOf returns the terms of a text with their statuses.
func termsOf(r reader, text string) []string {
	var terms []string
	for _, token := range r.Tokens(text) {
		terms = append(terms, lists.Map(token.Terms, token.Status.Term)...)
	}
	return terms
}

// words returns the runs of letters and digits of a text, in lower case.
func words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	})
}

func joined(text string) string { return strings.Join(words(text), " ") }

// lengths returns the length that every document has in each weighted field. Bleve divides it by the number of distinct
// words in a field for each document; so that the result is K of the package comment.
func lengths(topics []found, documents int) map[string]int {
	distinct := map[string]map[string]struct{}{fieldWords: {}, fieldSaid: {}}
	for i := range topics {
		for field, ws := range topics[i].fields {
			for w := range ws {
				distinct[field][w] = struct{}{}
			}
		}
	}
	all := map[string]int{}
	for field, ws := range distinct {
		average := math.Ceil(float64(len(ws)) / float64(documents))
		all[field] = int(average * (halfWeight*weightScale/bm25K1 - (1 - bm25B)) / bm25B)
	}
	return all
}

type source struct {
	Origin     Origin
	Topic      *Topic   `json:",omitempty"`
	Also       []string `json:",omitempty"` // models that share the topic
	Vocabulary []string `json:",omitempty"`
}

func (f *found) document(lengths map[string]int) (*document.Document, error) {
	shown := *f.topic
	shown.Terms = shown.Terms[:min(len(shown.Terms), shownTerms)]
	d, err := newDocument(f.id, kindTopic, &source{Origin: *f.origin, Topic: &shown, Also: f.also})
	if err != nil {
		return nil, err
	}
	rest, err := json.Marshal(f.topic.Terms[len(shown.Terms):])
	if err != nil {
		return nil, err
	}
	d.AddField(document.NewTextFieldCustom(fieldRest, nil, rest, index.StoreField, nil))
	d.AddField(keyword(fieldDirection, string(f.topic.Direction)))
	if f.shared {
		d.AddField(keyword(fieldShared, "yes"))
	}
	d.AddField(keyword(fieldNumber, strconv.Itoa(f.topic.Topic.Topic)))
	for field, ws := range f.fields {
		frequencies := make(index.TokenFrequencies, len(ws))
		for word, w := range ws {
			frequency := &index.TokenFreq{Term: []byte(word)}
			frequency.SetFrequency(max(int(math.Round(w*w*weightScale*weightScale)), 1))
			frequencies[word] = frequency
		}
		d.AddField(
			newCounted(field, frequencies, max(lengths[field], 1), index.IndexField))
	}
	return d, nil
}

func (v *Version) document(r reader) (*document.Document, error) {
	d, err := newDocument(v.id(), kindVersion, &source{Origin: v.Origin, Vocabulary: v.Vocabulary})
	if err != nil {
		return nil, err
	}
	vocabulary := v.Vocabulary
	if vocabulary == nil {
		for _, t := range v.Topics {
			for _, term := range t.Terms {
				vocabulary = append(vocabulary, term.Term)
				vocabulary = append(vocabulary, termsOf(r, strings.Join(term.Surface, "\n"))...)
			}
		}
	}
	frequencies := index.TokenFrequencies{}
	for _, term := range vocabulary {
		_, text := textproc.StatusOf(term)
		for _, w := range []string{term, text} {
			frequencies[w] = &index.TokenFreq{Term: []byte(w)}
			frequencies[w].SetFrequency(1)
		}
	}
	d.AddField(newCounted(fieldVocabulary, frequencies, 1, index.IndexField|index.SkipFreqNorm))
	return d, nil
}

// statuses in the order in which topics of equal score stand.
var statuses = []models.VersionStatus{
	models.ChampionStatus, models.ChallengerStatus, models.SupersededStatus, models.RefusedStatus,
}

const endOfTime = 253_402_300_800 // the first second of the year 10,000, which no version reaches

// newDocument returns a document with the fields that all have.
func newDocument(id, kind string, s *source) (*document.Document, error) {
	data, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	o := &s.Origin
	age := endOfTime - o.CreatedAt.Unix() // so that newer versions come first
	d := document.NewDocument(id)
	for _, f := range []*document.TextField{
		keyword(fieldKind, kind), keyword(fieldModel, o.Model), keyword(fieldVersion, o.Version),
		keyword(fieldComplaint, o.Complaint), keyword(fieldMethod, o.Method), keyword(fieldStatus, string(o.Status)),
		keyword(fieldOrder, fmt.Sprintf("%d%012d%s", slices.Index(statuses, o.Status), age, id)),
		document.NewTextFieldCustom(fieldSource, nil, data, index.StoreField, nil),
	} {
		if len(f.Value()) > 0 { // a questionnaire has no complaint
			d.AddField(f)
		}
	}
	return d, nil
}

func keyword(name, value string) *document.TextField {
	return document.NewTextFieldCustom(name, nil, []byte(value), index.IndexField|index.DocValues|index.SkipFreqNorm,
		nil)
}

// counted is a field of words with their counts.
type counted struct {
	*document.TextField // without a text
	frequencies         index.TokenFrequencies
	length              int
}

func newCounted(name string, words index.TokenFrequencies, length int, options index.FieldIndexingOptions) *counted {
	return &counted{document.NewTextFieldCustom(name, nil, nil, options, nil), words, length}
}

func (c *counted) Analyze()                                         {}
func (c *counted) AnalyzedLength() int                              { return c.length }
func (c *counted) AnalyzedTokenFrequencies() index.TokenFrequencies { return c.frequencies }

// share notes which topics of a generation are the same: models of complaints may have those of all complaints. That of
// the model of all complaints stands for the others, else the first.
func share(topics []found) error {
	same := map[string][]*found{}
	for i := range topics {
		f := &topics[i]
		if f.origin.Generation == "" {
			continue
		}
		o, t := f.origin, &f.topic.Topic
		words := lists.Map(t.Terms, func(t classifier.TopicTerm) any { return []any{t.Term, t.Weight} })
		key, err := json.Marshal([]any{o.Generation, o.Status, o.Method, t.Topic, t.Coefficient, t.Coefficients, words})
		if err != nil {
			return err
		}
		same[string(key)] = append(same[string(key)], f)
	}
	for _, group := range same {
		stands := max(slices.IndexFunc(group, func(f *found) bool { return f.origin.Model == bundle.Other }), 0)
		for i, f := range group {
			if i != stands {
				f.shared = true
				group[stands].also = append(group[stands].also, f.origin.Model)
			}
		}
		slices.Sort(group[stands].also)
	}
	return nil
}

const (
	indexedTerms = 20 // how many words of each sign a topic is found by
	keptForms    = 3  // bounds the forms of a term that the index keeps, the commonest first
)

// Origin says where a topic comes from.
type Origin struct {
	Model      string `json:"model"`
	Version    string `json:"version"`
	Generation string `json:"generation,omitempty"` // as in models.List
	// "_other" for the model of all complaints, "" for a questionnaire
	Complaint string               `json:"complaint"`
	Method    string               `json:"method"`
	Status    models.VersionStatus `json:"status"`
	CreatedAt time.Time            `json:"created_at"`
}

// Topic is a topic with the length of the column of its weights, Euclidean, which is 1 for orthonormal topics.
type Topic struct {
	classifier.Topic
	Length float64
}

// Version is what the index holds of a version of a model.
type Version struct {
	Origin
	Topics     []Topic
	Vocabulary []string // terms, nil for items of a questionnaire, whose forms are read as a note is
}

func (o *Origin) id() string { return o.Model + "/" + o.Version }

// describe returns what the index holds of a version in a store.
func describe(info *models.VersionInfo, b *bundle.Bundle) (*Version, error) {
	m, err := classifier.Load(b)
	if err != nil {
		return nil, err
	}
	columns, err := classifier.BundleTopics(b)
	if err != nil {
		return nil, err
	}
	v := &Version{Vocabulary: []string{}}
	v.Origin = Origin{
		Model: info.Model, Version: info.Version, Complaint: cmp.Or(b.Manifest.Complaint, bundle.Other),
		Method: b.Manifest.Method,
	}
	v.update(info)
	for t, topic := range m.Topics(indexedTerms) {
		for i := range topic.Terms {
			term := &topic.Terms[i]
			term.Surface = term.Surface[:min(len(term.Surface), keptForms)]
		}
		v.Topics = append(v.Topics, Topic{topic, mat.Norm(columns.ColView(t), 2)})
	}
	v.Vocabulary = append(v.Vocabulary, lists.Map(b.Vocabulary, func(t bundle.Term) string { return t.Text })...)
	return v, nil
}

// update sets what may change after a version was made.
func (o *Origin) update(info *models.VersionInfo) {
	o.Generation, o.Status, o.CreatedAt = info.Generation, info.Status, info.CreatedAt
}

// entering leaves in each vocabulary only terms that no earlier version of the model has. Some may already be cut so.
func entering(versions []*Version) {
	known := map[string]map[string]struct{}{}
	for _, v := range slices.SortedStableFunc(slices.Values(versions),
		func(a, b *Version) int { return a.CreatedAt.Compare(b.CreatedAt) }) {
		if known[v.Model] == nil {
			known[v.Model] = map[string]struct{}{}
		}
		fresh := []string{}
		for _, term := range v.Vocabulary {
			if _, has := known[v.Model][term]; !has {
				known[v.Model][term] = struct{}{}
				fresh = append(fresh, term)
			}
		}
		v.Vocabulary = fresh
	}
}
