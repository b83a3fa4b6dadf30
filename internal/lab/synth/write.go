package synth

import (
	"bytes"
	"strconv"
)

// Probabilities of the parts around the phrases.
const (
	saysDuration = 0.55
	saysDenials  = 0.4
	saysVitals   = 0.3
	saysFiller   = 0.3
	allCapitals  = 0.06
)

var (
	durations = [...]string{"x 1 day", "x 2 days", "x3d", "x 1 week", "since this am", "since last night", "x 2 hrs", "started yesterday", "x several days", "x 1 hr pta"}
	denials   = [...]string{
		"denies cp/sob", "denies fever", "no n/v", "denies loc", "denies si/hi", "no fever or chills", "denies trauma", "no abd pain", "denies dizziness", "no cough",
		"denies chest pain, sob, n/v", "no syncope", "denies weakness or numbness", "no hemoptysis", "denies black stools", "no blood thinners", "denies palpitations",
		"denies leg swelling", "no urinary retention", "denies orthopnea", "no head strike", "denies throat tightness", "no rigors", "denies radiation", "no diaphoresis",
	}
	fillers = [...]string{"aox3", "skin warm and dry", "vss", "mask in place", "family at bedside", "awaiting bed", "see medics sheet", "interpreter used", "ekg done in triage", "labs drawn", "pain 7/10", "pain 4/10", "will continue to monitor"}
	leads   = [...]string{" c/o ", " w/ ", " presents w/ ", ": ", " here for ", " c/o ", " with "}
	joints  = [...]string{", ", ", ", ". ", "; ", " + "}
)

// write returns the text of a note.
func (g *Generator) write(v *visit) string {
	var room [1024]byte
	w := &writer{visit: v, b: room[:0], misspelling: g.settings.Misspelling}
	w.person()
	w.phrase(v.c.opening[v.IntN(len(v.c.opening))])
	if v.Float64() < saysDuration {
		w.text(" ")
		w.text(durations[v.IntN(len(durations))])
	}
	v.Shuffle(len(v.said), func(i, j int) { v.said[i], v.said[j] = v.said[j], v.said[i] })
	joint := joints[v.IntN(len(joints))]
	for _, s := range v.said {
		w.text(joint)
		w.phrase(g.topics[s.topic].phrases[s.phrase])
	}
	if v.Float64() < saysDenials {
		w.text(joint)
		w.text(denials[v.IntN(len(denials))])
	}
	if v.Float64() < saysVitals {
		w.vitals()
	}
	if v.Float64() < saysFiller {
		w.text(". ")
		w.text(fillers[v.IntN(len(fillers))])
	}
	if v.Float64() < allCapitals {
		return string(bytes.ToUpper(w.b))
	}
	return string(w.b)
}

// writer builds the text of a note.
type writer struct {
	*visit
	b           []byte
	misspelling float64
}

// person writes age and sex, in one of the ways in which nurses do, and the
// word that leads to the complaint.
func (w *writer) person() {
	sex, long := "f", "female"
	if w.n.Sex == "M" {
		sex, long = "m", "male"
	}
	age, unit := int64(w.n.Age.Value), "yo"
	if w.n.Age.Value < 1 {
		age, unit = int64(w.n.Age.Value*12+0.5), "mo"
	}
	number := func() { w.b = strconv.AppendInt(w.b, age, 10) }
	switch style := w.IntN(6); {
	case style == 0 && unit == "yo":
		number()
		w.upper(sex)
	case style == 1:
		w.text("pt is a ")
		number()
		w.text(" ")
		w.text(unit)
		w.text(" ")
		w.text(long)
	case style == 2:
		number()
		w.text(unit)
		w.text(" ")
		w.text(sex)
	case style == 3:
		number()
		w.text(unit)
		w.text(" ")
		w.upper(sex)
	case style == 4:
		w.text("pt")
	default:
		number()
		w.text(" ")
		w.text(unit)
		w.text(" ")
		w.text(long)
	}
	w.text(leads[w.IntN(len(leads))])
}

func (w *writer) vitals() {
	if w.n.Vitals.HR.Set {
		w.text(". bp ")
		w.number(w.n.Vitals.SBP.Value)
		w.text("/")
		w.number(w.n.Vitals.DBP.Value)
		w.text(" hr ")
		w.number(w.n.Vitals.HR.Value)
		w.text(" t ")
		w.b = strconv.AppendFloat(w.b, w.n.Vitals.TempC.Value, 'f', 1, 64)
		w.text(" o2 ")
		w.number(w.n.Vitals.SpO2.Value)
		w.text("% ra")
	}
}

func (w *writer) number(v float64) { w.b = strconv.AppendInt(w.b, int64(v), 10) }

func (w *writer) text(s string) { w.b = append(w.b, s...) }

func (w *writer) upper(s string) { w.b = append(w.b, s[0]-'a'+'A') }

// phrase writes a phrase with one of its alternatives in each part, and with
// typing errors.
func (w *writer) phrase(p phrase) {
	start := len(w.b)
	for _, part := range p {
		if len(part) == 1 {
			w.text(part[0])
		} else {
			w.text(part[w.IntN(len(part))])
		}
	}
	if w.misspelling > 0 {
		w.mistype(start)
	}
}

// shortest is the number of letters from which a word can have a typing error.
const shortest = 5

// mistype makes typing errors in the words behind start.
func (w *writer) mistype(start int) {
	for i := start; i < len(w.b); i++ {
		begin := i
		for i < len(w.b) && w.b[i] >= 'a' && w.b[i] <= 'z' {
			i++
		}
		if i-begin < shortest || w.Float64() >= w.misspelling {
			continue
		}
		at := begin + 1 + w.IntN(i-begin-2) // neither the first letter nor the last
		switch w.IntN(3) {
		case 0: // swapped
			w.b[at], w.b[at+1] = w.b[at+1], w.b[at]
		case 1: // dropped
			w.b = append(w.b[:at], w.b[at+1:]...)
			i--
		default: // doubled
			w.b = append(w.b, 0)
			copy(w.b[at+1:], w.b[at:])
			i++
		}
	}
}
