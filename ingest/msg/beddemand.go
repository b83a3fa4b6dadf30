package msg

import "strings"

// BedDemand is the forecast of the admissions to a ward that are decided within some hours, for the compacted
// KafkaTopic triage.bed-demand with the key of AppendBedDemandKey.
type BedDemand struct {
	SchemaVersion string        `json:"schema_version"`
	Site          string        `json:"site"`
	Ward          string        `json:"ward"`  // AllWards, or one
	AsOf          string        `json:"as_of"` // RFC 3339 in UTC with milliseconds, see TimeFormat
	HorizonHours  float64       `json:"horizon_hours"`
	Waiting       DemandWaiting `json:"waiting"`
	Coming        DemandComing  `json:"coming"`
	Total         DemandTotal   `json:"total"`
	Exceed        []DemandAbove `json:"exceed"`
	// UsualMean is the mean number admitted at the same hours of the last six weeks; absent without a week of history.
	UsualMean Optional `json:"usual_mean,omitzero"`
	// patients who wait and whose prediction abstained: each counts with the base rate of the complaint
	Abstained int `json:"abstained"`
	// patients without an outcome who recently left the pool after waiting too long
	TimedOut int `json:"timed_out"`
	// OutcomesStale says that no outcome came for an hour: patients who have left may be counted.
	OutcomesStale bool `json:"outcomes_stale"`
	// Calibrated says whether the intervals of the last forecasts of this ward and horizon had their nominal coverage;
	// false until there are enough of them.
	Calibrated  bool           `json:"calibrated"`
	Coverage80  DemandCoverage `json:"coverage80"`
	Sigma       float64        `json:"sigma"` // standard deviation of the error of the log-odds that all patients share
	K           float64        `json:"k"`     // shape of the variation of arrivals between days, 0 for none
	Delta       float64        `json:"delta"` // correction of the log-odds by the last weeks
	Models      []string       `json:"models"`
	BedsVersion string         `json:"beds_version"` // of the fit to the site's history
}

// AllWards is the ward of all together.
const AllWards = "_all"

// DemandWaiting is the part of patients who wait.
type DemandWaiting struct {
	Patients int     `json:"patients"`
	Mean     float64 `json:"mean"`
}

// DemandComing is the part of patients who arrive later.
type DemandComing struct {
	Mean float64 `json:"mean"`
}

// DemandTotal is the distribution of the sum of the requested parts.
type DemandTotal struct {
	Mean       float64 `json:"mean"`
	Median     int     `json:"median"`
	Interval80 [2]int  `json:"interval80"`
	Interval95 [2]int  `json:"interval95"`
	PMF        PMF     `json:"pmf"`
	Tail       float64 `json:"tail"` // probability outside of PMF, at most 1e-12
}

// PMF are the probabilities of the counts from Offset on.
type PMF struct {
	Offset int       `json:"offset"`
	P      []float64 `json:"p"`
}

// DemandAbove is the probability that more than Beds are needed.
type DemandAbove struct {
	Beds        int     `json:"beds"`
	Probability float64 `json:"probability"`
}

// DemandCoverage is the share of the last n forecasts whose 80 % interval contained the count.
type DemandCoverage struct {
	N     int     `json:"n"`
	Share float64 `json:"share"`
}

// AppendBedDemandKey appends the key of a forecast to dst: site|ward|hours of horizon, with | and \ in names escaped.
func AppendBedDemandKey(dst []byte, site, ward string, horizonHours float64) []byte {
	for _, name := range []string{site, ward} {
		dst = append(append(dst, keyEscapes.Replace(name)...), '|')
	}
	return appendFloat(dst, horizonHours)
}

var keyEscapes = strings.NewReplacer(`|`, `\|`, `\`, `\\`)

// AppendJSON appends the forecast as one JSON object to dst, in the bytes that encoding/json writes without HTML
// escapes; nil slices become []. Numbers keep all digits, so that sums and quantiles match. It allocates only to grow
// dst.
func (b *BedDemand) AppendJSON(dst []byte) []byte { return bedDemandCodec.append(dst, b) }

// DecodeBedDemand reads a message of triage.bed-demand into b, which it overwrites. It does not keep data. The rules
// and the order of errors are those of DecodeNote; ward, as_of and total are required. Absent and null numbers are 0; a
// fraction in an integer field is WrongType.
func DecodeBedDemand(data []byte, b *BedDemand) error {
	*b = BedDemand{}
	return bedDemandCodec.decode(data, &b.SchemaVersion, b, "ward", "as_of", "total")
}
