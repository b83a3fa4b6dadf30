package beds

// LeastNamed is how many patients a ward, or another value that one of them might be known by, has before it is named
// outside their notes.
const LeastNamed = 10

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
