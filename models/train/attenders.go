package train

import (
	"cmp"
	"hash/maphash"
	"slices"
	"strings"
	"unicode"

	"github.com/wardcast/wardcast/models/report"
)

// Attenders counts patients and their notes. Its JSON names are stable.
type Attenders struct {
	Patients       int `json:"patients"`        // known ones
	UnknownPatient int `json:"unknown_patient"` // notes without a patient
	RepeatPatients int `json:"repeat_patients"` // patients with more than one note
	RepeatVisits   int `json:"repeat_visits"`   // their notes
}

// CountAttenders counts the patients of rows.
func CountAttenders(rows []Row) (a Attenders) {
	notes := map[string]int{}
	for i := range rows {
		if p := rows[i].Patient; p != "" {
			notes[p]++
		} else {
			a.UnknownPatient++
		}
	}
	a.Patients = len(notes)
	for _, n := range notes {
		if n > 1 {
			a.RepeatPatients++
			a.RepeatVisits += n
		}
	}
	return a
}

// Counts returns the counts that a report shows of notes of the same patients, known or suspected. Where no note names
// its patient, nobody knows how many came again.
func (a Attenders) Counts(r Recurring) []report.Count {
	repeated := []report.Count{{Name: "patients with more than one note"}, {Name: "notes of these patients"}}
	if a.Patients > 0 {
		repeated[0].Number, repeated[1].Number = &a.RepeatPatients, &a.RepeatVisits
	}
	return append(repeated,
		report.Count{Name: "notes without a patient id", Number: &a.UnknownPatient},
		report.Count{Name: "notes that recur, except for numbers, under other patients", Number: &r.Notes})
}

// Recurring counts near-identical notes of different patients. Many of them suggest that repeat attenders lack Patient:
// then training and test notes share patients, and every figure is too good.
type Recurring struct {
	Texts int     `json:"texts"` // different ones that recur
	Notes int     `json:"notes"` // that have them
	Share float64 `json:"share"` // of the notes that are long enough
}

// Many reports whether there are more than chance makes: invented notes without a fault have far fewer (package synth).
func (r Recurring) Many() bool { return r.Share > 0.02 }

const longEnough = 8 // the least number of words of a note that is unlikely to recur by chance

// CountRecurring counts the notes that differ from one of another patient in case, numbers, marks and spaces alone; a
// row without a patient has its own. It compares hashes of 64 bits: of a million texts two collide once in 37 million
// runs.
func CountRecurring(rows []Row) (r Recurring) {
	type text struct {
		sum uint64
		row int
	}
	seed := maphash.MakeSeed()
	var texts []text
	for i := range rows {
		words := strings.FieldsFunc(strings.ToLower(rows[i].Text), func(r rune) bool { return !unicode.IsLetter(r) })
		if len(words) >= longEnough {
			texts = append(texts, text{maphash.String(seed, strings.Join(words, " ")), i})
		}
	}
	slices.SortFunc(texts, func(a, b text) int { return cmp.Compare(a.sum, b.sum) })
	for i := 0; i < len(texts); {
		first := texts[i]
		j, several := i+1, false
		for ; j < len(texts) && texts[j].sum == first.sum; j++ {
			p := rows[texts[j].row].Patient
			several = several || p == "" || p != rows[first.row].Patient
		}
		if several {
			r.Texts++
			r.Notes += j - i
		}
		i = j
	}
	if len(texts) > 0 {
		r.Share = float64(r.Notes) / float64(len(texts))
	}
	return r
}
