package msg

// DecodeBedDemand reads a message of triage.bed-demand into b, whose former contents are lost. It does not keep data. The
// rules and the order of errors are those of DecodeNote; ward, as_of and total are the required fields. Numbers that are
// absent or null are 0; one that should be an integer and is none is WrongType.
func DecodeBedDemand(data []byte, b *BedDemand) error {
	*b = BedDemand{}
	d := demandDecoder{b: b}
	err := d.message(data, &b.SchemaVersion, d.field)
	switch {
	case err != nil:
		return err
	case blank(b.Ward):
		return &Error{MissingField, "ward"}
	case blank(b.AsOf):
		return &Error{MissingField, "as_of"}
	case !d.hasTotal:
		return &Error{MissingField, "total"}
	}
	return nil
}

type demandDecoder struct {
	decoder
	b        *BedDemand
	hasTotal bool
}

func (d *demandDecoder) field(name string) bool {
	b := d.b
	switch name {
	case "schema_version":
		return d.text(name, &b.SchemaVersion, MaxField)
	case "site":
		return d.text(name, &b.Site, MaxField)
	case "ward":
		return d.text(name, &b.Ward, MaxField)
	case "as_of":
		return d.text(name, &b.AsOf, MaxField)
	case "beds_version":
		return d.text(name, &b.BedsVersion, MaxField)
	case "models":
		b.Models = nil
		return d.elements(name, func() bool {
			b.Models = append(b.Models, "")
			return d.text(name, &b.Models[len(b.Models)-1], MaxField)
		})
	case "waiting":
		b.Waiting = DemandWaiting{}
		return d.members(name, map[string]any{"patients": &b.Waiting.Patients, "mean": &b.Waiting.Mean})
	case "coming":
		b.Coming = DemandComing{}
		return d.members(name, map[string]any{"mean": &b.Coming.Mean})
	case "coverage80":
		b.Coverage80 = DemandCoverage{}
		return d.members(name, map[string]any{"n": &b.Coverage80.N, "share": &b.Coverage80.Share})
	case "total":
		b.Total, d.hasTotal = DemandTotal{}, d.Peek() != 'n'
		return d.fields(name, d.total)
	case "exceed":
		b.Exceed = nil
		return d.elements(name, func() bool {
			b.Exceed = append(b.Exceed, DemandAbove{})
			a := &b.Exceed[len(b.Exceed)-1]
			return d.members(name, map[string]any{"beds": &a.Beds, "probability": &a.Probability})
		})
	}
	return d.scalar("", name, map[string]any{
		"horizon_hours": &b.HorizonHours, "usual_mean": &b.UsualMean, "abstained": &b.Abstained, "timed_out": &b.TimedOut,
		"outcomes_stale": &b.OutcomesStale, "calibrated": &b.Calibrated, "sigma": &b.Sigma, "k": &b.K, "delta": &b.Delta,
	})
}

func (d *demandDecoder) total(name string) bool {
	t := &d.b.Total
	switch name {
	case "interval80":
		return d.pair("total."+name, &t.Interval80)
	case "interval95":
		return d.pair("total."+name, &t.Interval95)
	case "pmf":
		t.PMF = PMF{}
		return d.fields("total."+name, func(name string) bool {
			if name != "p" {
				return d.scalar("total.pmf.", name, map[string]any{"offset": &t.PMF.Offset})
			}
			t.PMF.P = nil
			return d.elements("total.pmf.p", func() bool {
				t.PMF.P = append(t.PMF.P, 0)
				return d.number("total.pmf.p", &t.PMF.P[len(t.PMF.P)-1])
			})
		})
	}
	return d.scalar("total.", name, map[string]any{"mean": &t.Mean, "median": &t.Median, "tail": &t.Tail})
}

// members reads an object of scalars.
func (d *demandDecoder) members(group string, into map[string]any) bool {
	return d.fields(group, func(name string) bool { return d.scalar(group+".", name, into) })
}

// scalar reads the value of a name into its place, or skips it if it has none.
func (d *demandDecoder) scalar(group, name string, into map[string]any) bool {
	switch dst := into[name].(type) {
	case *float64:
		return d.number(group+name, dst)
	case *int:
		return d.integer(group+name, dst)
	case *bool:
		return d.boolean(group+name, dst)
	case *Optional:
		return d.float(group, name, dst)
	}
	return d.Skip(2)
}
