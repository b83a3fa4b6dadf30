package train

import "github.com/wardcast/wardcast/models/report"

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

// Counts returns what a report says of notes of the same patients, and of those that may be.
func (a Attenders) Counts(r Recurring) []report.Count {
	return []report.Count{
		{Name: "patients with more than one note", Number: a.RepeatPatients},
		{Name: "notes of these patients", Number: a.RepeatVisits},
		{Name: "notes without a patient id", Number: a.UnknownPatient},
		{Name: "notes that recur, but for numbers, under other patients", Number: r.Notes},
	}
}
