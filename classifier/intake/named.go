package intake

// LeastNamed is how many patients must share a complaint, ward, site or other value of a field before it is named
// outside their notes, their predictions and their own rows: what fewer share could be a name that was typed there.
const LeastNamed = 10

// Others stands for all values of fewer patients.
const Others = "others"

// Tally counts the patients of each value, up to LeastNamed.
type Tally map[string]map[string]bool

// Add counts a patient once.
func (t Tally) Add(value, person string) {
	people := t[value]
	if people == nil {
		people = map[string]bool{}
		t[value] = people
	}
	if len(people) < LeastNamed {
		people[person] = true
	}
}

// Many returns the values of enough patients.
func (t Tally) Many() map[string]bool {
	all := map[string]bool{}
	for value, people := range t {
		if value != "" && len(people) >= LeastNamed {
			all[value] = true
		}
	}
	return all
}

// HideRare replaces the values of too few patients by Others. An empty value is none, and is kept.
func HideRare(values, patients []string) {
	t := Tally{}
	for i, value := range values {
		t.Add(value, patients[i])
	}
	many := t.Many()
	for i, value := range values {
		if value != "" && !many[value] {
			values[i] = Others
		}
	}
}
