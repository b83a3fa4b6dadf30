package textproc

import (
	"math"
	"slices"
	"strings"
)

// measure is a kind of number that notes hold. Its values become one term for each range, "hr:111-130". Its keys, which
// stand before the number, are separated by |.
type measure struct {
	name     string
	spoken   string  // before the number, for people; "" if they do not say the number
	least    float64 // plausible values; others are dropped
	most     float64
	limits   []float64 // range i holds values less than limits[i], the last one the rest
	ranges   []string
	normal   int     // the range of a healthy adult: of two values the one farther from it counts
	child    bool    // the ranges are those of adults; a child's get a term of their own
	vital    bool    // stands in a row of vital signs
	first    int     // number of its first term
	step     float64 // between two values: over 10 is read as 10 plus a step
	keys     string
	needs    func(t *Transformer, key, number int) bool // whether the number belongs to the key; nil: always
	concepts bool                                       // the key keeps its own concept: "fever 103"
}

const worstPain = 10

// The ranges are those of NEWS2 (Royal College of Physicians 2017) for heart rate, breathing rate, systolic pressure,
// temperature and saturation; of ACC/AHA for the diastolic pressure; of head injuries for GCS; of ADA and HHS for
// glucose and A1C; of Serlin (1995) and ESI for pain; of CHEST (2012) for INR; of the UK Kidney Association (2023) for
// potassium; of NEWS2 for its own score; of NICE's guideline on pneumonia (2014) for CRP; of the AABB (2023) and WHO
// (2011) for hemoglobin; of the European Society of Cardiology (2020) for high-sensitivity troponin T; of the European
// guideline on hyponatraemia (Spasovski 2014) for sodium; of the Resuscitation Council UK for capillary refill; of the
// CDC's field triage for heights and speeds; of NCHS for ages from 8 years, ESI below. The ranges of durations, oxygen
// and lactate are our own.
var (
	heartRate = &measure{
		name: "hr", spoken: "HR",
		least: 15, most: 300, limits: []float64{41, 51, 91, 111, 131}, normal: 2, child: true, vital: true,
		ranges:   []string{"<=40", "41-50", "51-90", "91-110", "111-130", ">=131"},
		keys:     "hr|pulse|heart rate|pulse rate|p|pr|tachycardia|tachycardic|tachy|bradycardia|bradycardic|brady",
		concepts: true, needs: pulsing,
	}
	breathing = &measure{
		name: "rr", spoken: "RR",
		least: 2, most: 90, limits: []float64{9, 12, 21, 25}, normal: 2, child: true, vital: true,
		ranges:   []string{"<=8", "9-11", "12-20", "21-24", ">=25"},
		keys:     "rr|resp|resps|respirations|resp rate|respiratory rate|r|tachypnea|tachypneic",
		concepts: true, needs: nextToVital,
	}
	systolic = &measure{
		name: "sbp", spoken: "systolic BP",
		least: 30, most: 320, limits: []float64{91, 101, 111, 180, 220}, normal: 3, child: true, vital: true,
		ranges: []string{"<=90", "91-100", "101-110", "111-179", "180-219", ">=220"},
		keys:   "bp|blood pressure|sbp|systolic|bps",
	}
	diastolic = &measure{
		name: "dbp", spoken: "diastolic BP",
		least: 10, most: 220, limits: []float64{120.5}, ranges: []string{"", ">120"}, vital: true,
		keys: "dbp|diastolic",
	}
	temperature = &measure{
		name: "temp", spoken: "temp",
		least: 25, most: 45, limits: []float64{35.05, 36.05, 37.95, 39.05}, normal: 2, vital: true,
		ranges:   []string{"<=35.0", "35.1-36.0", "36.1-37.9", "38.0-39.0", ">=39.1"},
		keys:     "t|temp|temps|temperature|tmax|t max|fever|fevers|low grade fever|febrile|afebrile",
		concepts: true, needs: warm,
	}
	saturation = &measure{
		name: "spo2", spoken: "SpO₂", least: 30, most: 100, limits: []float64{92, 94, 96}, normal: 3, vital: true,
		ranges: []string{"<=91", "92-93", "94-95", ">=96"},
		keys: "spo2|sat|sats|o2 sat|o2 sats|o2sat|o2sats|sao2|pulse ox|pulse oximetry|pulseox|pox|o2 saturation|" +
			"oxygen saturation|o2|saturation|satting|sating|saturating|hypoxia|hypoxic|desat|desats|desatting|" +
			"desatted|desaturation|low sats|low sat|low spo2|low o2",
		concepts: true, needs: saturated,
	}
	coma = &measure{
		name: "gcs", spoken: "GCS", least: 3, most: 15, limits: []float64{9, 13, 15}, normal: 3,
		ranges: []string{"3-8", "9-12", "13-14", "15"},
		keys:   "gcs|glasgow coma scale|glasgow coma score|glasgow",
	}
	glucose = &measure{
		name: "glucose", spoken: "glucose", least: 5, most: 2500, limits: []float64{54, 70, 200, 600}, normal: 2,
		ranges: []string{"<54", "54-69", "70-199", "200-599", ">=600"},
		keys: "glucose|bg|bs|bgl|cbg|bm|bms|bsl|grbs|rbs|rbg|fbs|ppbs|dxt|hgt|capillary glucose|cap glucose|" +
			"blood sugar level|" +
			"random blood sugar|fsbs|fsbg|fs|fsg|blood sugar|blood glucose|sugar|sugars|accucheck|accu check|" +
			"accu|dexi|dstick|d stick|chem strip|fingerstick|finger stick|glucometer|meter|glu|bgm|poc glucose|gluc|" +
			"high glucose|glucose high|bs high|bg high|blood sugar high|sugar high|low glucose|glucose low|bs low|" +
			"bg low|blood sugar low|sugar low",
		concepts: true, needs: sugar,
	}
	painScore = &measure{
		name: "pain", spoken: "pain",
		least: 0, most: worstPain, limits: []float64{.5, 4.5, 6.5}, ranges: []string{"0", "1-4", "5-6", "7-10"},
		keys:     "pain|pain scale|pain score|pain level|pain rating|pain rated|rates pain|rated pain",
		concepts: true, needs: rated,
	}
	a1c = &measure{
		name: "a1c", spoken: "A1C",
		least: 3, most: 25, limits: []float64{6.5, 10.05}, ranges: []string{"<6.5", "6.5-10", ">10"},
		keys: "a1c|hba1c|hgba1c|hgb a1c",
	}
	inr = &measure{
		name: "inr", spoken: "INR", least: .5, most: 30, limits: []float64{2, 3.1, 4.5, 10.05},
		ranges: []string{"<2", "2-3", "3.1-4.4", "4.5-10", ">10"}, keys: "inr",
	}
	potassium = &measure{
		name: "k", spoken: "potassium", least: 1.2, most: 12, limits: []float64{2.5, 3.5, 5.5, 6, 6.5}, normal: 2,
		ranges: []string{"<2.5", "2.5-3.4", "3.5-5.4", "5.5-5.9", "6.0-6.4", ">=6.5"},
		keys:   "k|k+|potassium", needs: decimalOrSign,
	}
	lactate = &measure{
		name: "lactate", spoken: "lactate",
		least: .2, most: 30, limits: []float64{2, 4}, ranges: []string{"<2", "2-3.9", ">=4"},
		keys: "lactate|lactic|lactic acid",
	}
	sodium = &measure{
		name: "na", spoken: "sodium", least: 90, most: 190, limits: []float64{120, 130, 135, 146}, normal: 3,
		ranges: []string{"<120", "120-129", "130-134", "135-145", ">145"}, keys: "na|na+|sodium", needs: salty,
	}
	hemoglobin = &measure{ // g/dL
		name: "hb", spoken: "hemoglobin", least: 1.5, most: 25, limits: []float64{7, 10, 12}, normal: 3,
		ranges: []string{"<7", "7-9.9", "10-11.9", ">=12"}, keys: "hb|hgb|haemoglobin|hemoglobin",
	}
	protein = &measure{
		name: "crp", spoken: "CRP", least: .1, most: 900, limits: []float64{20, 100.05},
		ranges: []string{"<20", "20-100", ">100"}, keys: "crp",
	}
	troponinLevel = &measure{ // ng/L
		name: "trop", spoken: "troponin", most: 1e6, limits: []float64{14.5, 52},
		ranges: []string{"<=14", "15-51", ">=52"},
		keys:   "troponin|troponins|trop|trops|hs trop|tnt|tni", concepts: true,
	}
	warning = &measure{
		name: "news", spoken: "NEWS", most: 20, limits: []float64{5, 7}, ranges: []string{"0-4", "5-6", ">=7"},
		keys: "news|news2|news score|ews|mews",
	}
	refill = &measure{ // seconds
		name: "crt", spoken: "capillary refill", least: .5, most: 20, limits: []float64{2.05},
		ranges: []string{"<=2s", ">2s"}, keys: "crt|cap refill|capillary refill|cap refill time|capillary refill time",
	}
	orientation = &measure{
		name: "orient", spoken: "oriented ×",
		least: 0, most: 4, limits: []float64{.5, 1.5, 2.5, 3.5}, normal: 4, ranges: []string{"0", "1", "2", "3", "4"},
		keys: "a&o|a&ox|a/o|a/ox|ao|aox|aao|aaox|alert and oriented|alert oriented|alert & oriented|alert, oriented|" +
			"a and o|a+o|a+ox|axo|axox|awake alert|oriented|alert/oriented|alert and orientated|orientated|cao|caox|" +
			"a and ox|alert",
		concepts: true, needs: crossed,
	}
	duration = &measure{
		name: "dur", spoken: "for", most: 1e6, limits: []float64{1, 24, 4 * 24, 8 * 24, 31 * 24}, // hours
		ranges: []string{"<1h", "1-23h", "1-3d", "4-7d", "8-30d", ">30d"},
		keys:   "pod|post op day|postop day", concepts: true,
	}
	count = &measure{
		name: "count", spoken: "×",
		least: 1, most: 99, limits: []float64{1.5, 2.5}, ranges: []string{"1", "2", ">=3"},
	}
	gestation = &measure{
		name: "ga", spoken: "gestation, weeks",
		least: 1, most: 44, limits: []float64{14, 28, 37}, ranges: []string{"<14", "14-27", "28-36", ">=37"},
	}
	oxygen = &measure{
		name: "o2", spoken: "oxygen",
		least: .25, most: 70, limits: []float64{5, 10}, ranges: []string{"1-4l", "5-9l", ">=10l"},
	}
	height = &measure{
		name: "height", spoken: "height",
		least: 1, most: 500, limits: []float64{10.5, 20.5}, ranges: []string{"<=10ft", "11-20ft", ">20ft"},
	}
	speed = &measure{
		name: "speed", spoken: "speed",
		least: 1, most: 200, limits: []float64{20.5}, ranges: []string{"<=20mph", ">20mph"},
	}
	age = &measure{
		name: "age", spoken: "age", most: 120, limits: []float64{.25, 3, 8, 18, 45, 65, 75, 85}, // years
		ranges: []string{"<3mo", "3-35mo", "3-7y", "8-17y", "18-44y", "45-64y", "65-74y", "75-84y", ">=85y"},
	}
	sex   = &measure{name: "sex", most: 1, limits: []float64{.5}, ranges: []string{"f", "m"}}
	spine = &measure{name: "spine", most: 3, limits: []float64{.5, 1.5, 2.5}, ranges: []string{"c", "t", "l", "s"}}
	dose  = &measure{name: "dose", most: 1, limits: []float64{.5}, ranges: []string{"amount", "count"}}
	ob    = &measure{name: "ob", ranges: []string{"gp"}}

	measures = []*measure{
		heartRate, breathing, systolic, diastolic, temperature, saturation, coma, glucose, painScore, a1c, inr,
		potassium, lactate, sodium, hemoglobin, protein, troponinLevel, refill, warning, orientation,
		duration, count, gestation, oxygen, height, speed, age, sex, spine, dose, ob,
	}
	measureTerms = numberTerms(measures)
)

// SpokenMeasure returns the words spoken before the number in a term of this kind, as in "hr:51-90"; "" for no number.
func SpokenMeasure(kind string) string {
	if i := slices.IndexFunc(measures, func(m *measure) bool { return m.name == kind }); i >= 0 {
		return measures[i].spoken
	}
	return ""
}

// numberTerms numbers the terms of all measures and returns their count.
func numberTerms(measures []*measure) int {
	n := 0
	for _, m := range measures {
		m.first = n
		m.step = 1
		if slices.ContainsFunc(m.ranges, func(r string) bool { return strings.Contains(r, ".") }) {
			m.step = .1
		}
		n += len(m.ranges)
		if m.child {
			n += len(m.ranges)
		}
	}
	return n
}

// rangeOf returns the number of the range that holds x, or -1 if x is implausible.
func (m *measure) rangeOf(x float64) int {
	if !(x >= m.least && x <= m.most) {
		return -1
	}
	for i, limit := range m.limits {
		if x < limit {
			return i
		}
	}
	return len(m.limits)
}

// worse returns the range of the value farther from normal.
func (m *measure) worse(x, y float64) int {
	a, b := m.rangeOf(x), m.rangeOf(y)
	if a < 0 || b < 0 || max(a-m.normal, m.normal-a) >= max(b-m.normal, m.normal-b) {
		return a
	}
	return b
}

// celsius returns x in degrees Celsius, to a tenth: values that only Fahrenheit can have are converted.
func celsius(x float64) float64 {
	if x >= 77 && x <= 113 {
		x = (x - 32) / 1.8
	}
	return math.Round(x*10) / 10
}
