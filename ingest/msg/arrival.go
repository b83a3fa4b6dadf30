package msg

// Arrival is what a prediction tells of a patient who waits for a decision.
type Arrival struct {
	Scored
	ArrivedAt string // RFC 3339, not checked
	Complaint string
	Abstained bool
	Site      string   // "" unless the model reads it
	Age       Optional // absent unless the model reads it
	Classes   []Class  // of a model of several outcomes
}

// DecodeArrival reads a prediction into a, whose former contents are lost, as DecodeScored does, with what a forecast of beds
// needs. Fields of the explanation that are of another type are skipped.
func DecodeArrival(data []byte, a *Arrival) error {
	*a = Arrival{}
	if err := DecodeScored(data, &a.Scored); err != nil {
		return err
	}
	var d decoder
	var version string
	err := d.message(data, &version, func(name string) bool {
		switch name {
		case "schema_version":
			return d.text(name, &version, MaxField)
		case "arrived_at":
			return d.text(name, &a.ArrivedAt, MaxField)
		case "complaint":
			return d.text(name, &a.Complaint, MaxField)
		case "abstained":
			return d.boolean(name, &a.Abstained)
		case "aux":
			a.Site, a.Age = "", Optional{}
			return d.elements(name, func() bool { return d.aux(a) })
		case "classes":
			a.Classes = nil
			return d.elements(name, func() bool { return d.class(a) })
		}
		return d.Skip(1)
	})
	if err != nil {
		return err
	}
	return nil
}

// aux reads an auxiliary feature, of which age and site are kept.
func (d *decoder) aux(a *Arrival) bool {
	var feature string
	var v Value
	ok := d.fields("aux", func(name string) bool {
		switch name {
		case "name":
			return d.text("aux.name", &feature, MaxField)
		case "value":
			_, ok := d.value(&v, 3)
			return ok
		}
		return d.Skip(3)
	})
	switch feature {
	case "age":
		a.Age.Value, a.Age.Set = v.Number()
	case "site":
		a.Site, _ = v.Text()
	}
	return ok
}

// class reads a class with its probability.
func (d *decoder) class(a *Arrival) bool {
	var c Class
	ok := d.fields("classes", func(name string) bool {
		switch name {
		case "class":
			return d.text("classes.class", &c.Class, MaxField)
		case "probability":
			return d.number("classes.probability", &c.Probability)
		}
		return d.Skip(3)
	})
	a.Classes = append(a.Classes, c)
	return ok
}
