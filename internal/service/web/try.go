package web

import (
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/service/scoring"
	"github.com/wardcast/wardcast/textproc"
)

// maxForm bounds the form, in bytes.
const maxForm = 256 << 10

// tryPage is the page Try a note.
type tryPage struct {
	Form, Errors map[string]string
	Complaints   []string
	Fields       []field
	Reading      *reading
	Row          *row
	After        string // how the last word moved the prediction
}

// field is a field of the form about the patient.
type field struct {
	Name, Label, Mode, Value, Error string
	Choices                         []string
}

// reading is what the model makes of a note's words.
type reading struct {
	Tokens []token
	Known  int
}

// token is a part of a note that means something.
type token struct {
	Text, Terms, Status string
	Known               bool

	start int // in bytes of the note
}

// worker scores notes with one set, one at a time.
type worker struct {
	scorer     *scoring.Scorer
	prediction msg.Prediction
}

// example is the note behind the button.
func example() map[string]string {
	return map[string]string{
		"text":      "82F found on floor by neighbour, ?long lie, confused since am, L arm weak, no headache, hx stroke, lives alone, ambulating w frame",
		"complaint": "Fall", "age": "82", "sex": "F", "acuity": "2", "bp": "138/74", "hr": "104",
	}
}

func (p *Pages) emptyTry(w http.ResponseWriter, r *http.Request) {
	p.write(w, r, view{template: "try", title: "Try a note", here: "Try a note", data: p.tryPage(map[string]string{})})
}

// try predicts the note of the form. It keeps nothing.
func (p *Pages) try(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	v := view{template: "try", title: "Try a note", here: "Try a note"}
	form := map[string]string{}
	if err := r.ParseForm(); err != nil {
		page := p.tryPage(form)
		page.Errors["text"] = "The form did not come whole, or is too large."
		v.status, v.data = http.StatusBadRequest, page
		p.write(w, r, v)
		return
	}
	for name, values := range r.PostForm {
		form[name] = strings.ToValidUTF8(values[0], "\uFFFD")
	}
	if form["example"] != "" {
		form = example()
	}
	page := p.tryPage(form)
	p.predict(page)
	if len(page.Errors) > 0 {
		v.status = http.StatusBadRequest
		for i := range page.Fields {
			page.Fields[i].Error = page.Errors[page.Fields[i].Name]
		}
	}
	v.data = page
	p.write(w, r, v)
}

// tryPage returns the page with the form filled in.
func (p *Pages) tryPage(form map[string]string) *tryPage {
	page := &tryPage{Form: form, Errors: map[string]string{}}
	for _, a := range p.options.Set().About {
		if a.Complaint != "" {
			page.Complaints = append(page.Complaints, a.Complaint)
		}
	}
	slices.Sort(page.Complaints)
	add := func(name, label, mode string, choices ...string) {
		page.Fields = append(page.Fields, field{Name: name, Label: label, Mode: mode, Value: form[name], Choices: choices})
	}
	add("age", "Age", "numeric")
	add("sex", "Sex", "", "F", "M")
	add("acuity", "Acuity", "", "1", "2", "3", "4", "5")
	add("bp", "BP", "text")
	add("hr", "HR", "numeric")
	add("rr", "RR", "numeric")
	add("temp", "Temp °C", "decimal")
	add("spo2", "SpO₂ %", "numeric")
	return page
}

// predict fills in what the note of the form leads to, or what is wrong with the form.
func (p *Pages) predict(page *tryPage) {
	note := page.note()
	if len(page.Errors) > 0 || strings.TrimSpace(note.Text) == "" {
		return
	}
	own, _ := p.workers.Get().(*worker)
	if set := p.options.Set(); own == nil || own.scorer.Set != set {
		own = &worker{scorer: set.Scorer(p.options.Explain)}
	}
	said := &own.prediction
	if err := own.scorer.Score(note, time.Now().UTC().Format(msg.TimeFormat), said); err != nil {
		_, page.Errors["text"] = scoring.Refusal(err)
		return
	}
	page.Row = newRow(said, note)
	now := said.Admission()
	model, _ := own.scorer.Reading(said)
	page.Reading = read(model.Vectorizer().Transformer(), note.Text)
	if n := len(page.Reading.Tokens); n > 1 && !page.Row.P.None {
		last := &page.Reading.Tokens[n-1]
		without := *note
		without.Text = note.Text[:last.start]
		if before, ok := own.scorer.Probability(&without); ok {
			page.After = fell(last.Text, before, now)
		}
	}
	p.workers.Put(own)
}

// note returns the note of the form. What cannot be read is told in Errors.
func (page *tryPage) note() *msg.Note {
	form := page.Form
	n := &msg.Note{SchemaVersion: msg.SchemaVersion, VisitID: "try", Text: form["text"], Complaint: strings.TrimSpace(form["complaint"]), Sex: form["sex"]}
	if len(n.Text) > msg.MaxText {
		page.Errors["text"] = "The note is longer than 64 KiB."
	}
	if utf8.RuneCountInString(n.Complaint) > 200 {
		page.Errors["text"] = "The complaint is longer than 200 characters."
	}
	page.number("age", "a number of years, such as 82", &n.Age)
	page.number("acuity", "1 to 5", &n.Acuity)
	page.number("hr", "beats a minute, such as 96", &n.Vitals.HR)
	page.number("rr", "breaths a minute, such as 18", &n.Vitals.RR)
	page.number("temp", "degrees, such as 36.8", &n.Vitals.TempC)
	page.number("spo2", "percent, such as 97", &n.Vitals.SpO2)
	if text := strings.TrimSpace(form["bp"]); text != "" {
		high, low, ok := strings.Cut(text, "/")
		s, err1 := strconv.ParseFloat(strings.TrimSpace(high), 64)
		d, err2 := strconv.ParseFloat(strings.TrimSpace(low), 64)
		if !ok || err1 != nil || err2 != nil || math.IsNaN(s+d) || math.IsInf(s+d, 0) {
			page.Errors["bp"] = "Write two numbers, such as 138/74."
			return n
		}
		n.Vitals.SBP, n.Vitals.DBP = msg.Some(s), msg.Some(d)
	}
	return n
}

// number reads a number of the form.
func (page *tryPage) number(name, want string, to *msg.Optional) {
	text := strings.Replace(strings.TrimSpace(page.Form[name]), ",", ".", 1)
	if text == "" {
		return
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		page.Errors[name] = "Write " + want + "."
		return
	}
	*to = msg.Some(v)
}

// read returns what a reader makes of a text.
func read(t *textproc.Transformer, text string) *reading {
	r := &reading{}
	for _, k := range t.Tokens(text) {
		status := "stated"
		if tag := tags[k.Status.String()]; tag != "" {
			status = tag
		}
		terms := make([]string, len(k.Terms))
		for i, term := range k.Terms {
			terms[i] = spoken(term)
		}
		r.Tokens = append(r.Tokens, token{text[k.Start:k.End], strings.Join(terms, ", "), status, k.Known, k.Start})
		if k.Known {
			r.Known++
		}
	}
	return r
}
