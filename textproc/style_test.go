package textproc_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/textproc"
)

// An explanation names findings. Each column adds 1, a pair of terms too.
func TestPartsAreFindings(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"pt reports that she developed fever":      "fever 1, other 1",
		"attempting ladder, attempted ladder":      "ladder 1, ladder 1, other 2",
		"fell while going home in june":            "fell 1, going home 2",
		"left upper arm lac":                       "left upper arm lac 4",
		"thrown out of car":                        "thrown out of car 3",
		"out, thrown":                              "thrown 1, other 1",
		"fell, no helmet":                          "fell 1, no helmet 1",
		"denies chills, rigors":                    "denies chills 1, rigors (denied) 1",
		"afebrile":                                 "afebrile 1",
		"went to school; recently got tylenol":     "went to school 2, got tylenol 2, other 1",
		"dx of asthma, brought in by mother":       "asthma 1, other 3",
		"sob w/ c/o cough, pt session on monday":   "sob 1, cough 1, pt session 1, other 1",
		"subsequently several weird types of rash": "weird types of rash 3, other 2",
		"extreme pain; inc, turned":                "extreme pain 2, other 2",
		"heard stridor, instructions, turned gray": "stridor 1, turned gray 2, other 2",
	} {
		checkParts(t, text, want)
	}
}

// Words that belong together are one part, with at most one finding of the tables.
func TestPartsArePhrases(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"weakness dizziness fever":             "weakness 1, dizziness 1, fever 1",
		"coffee table, floor heater":           "coffee table 2, floor heater 2",
		"high pitched weak cry; rib fractures": "high pitched weak cry 4, rib fractures 2",
		"fever generalized weakness":           "fever 1, generalized weakness 1",
		"witnessed seizure, witnessed":         "witnessed seizure 2, other 1",
		"t 103 ax, ax":                         "t 103 ax 2, other 1",
		"slowly, rash slowly":                  "rash slowly 2, other 1",
		"open window while smoking":            "open window 2, smoking 1",
		"rash on her chest, on back":           "rash on her chest, on back 3",
		"sore @ elbow; site became red":        "sore @ elbow 2, site became red 3",
		"arm began to swell, swollen, hands":   "arm began to swell 3, swollen, hands 2",
		"fever and arm began to swell":         "fever 1, arm began to swell 3",
		"inj left ankle fell; ankle rolled":    "inj left ankle 3, fell 1, ankle rolled 2",
		"typhoid vax fever; vax":               "typhoid vax 2, fever 1, vax 1",
		"pain in arm & fingers primary md":     "pain in arm & fingers 3, primary md 2",
		"swollen 6 in diameter around elbow":   "swollen 6 in diameter around elbow 4",
		"fever; arm":                           "fever; arm 2",
		"color has been gray, biopsy was odd":  "color has been gray 2, biopsy was odd 2",
		"size; size of bruise, as well as red": "size of bruise 2, red 1, other 1",
		"pain noted to the left arm":           "pain noted to the left arm 4",
		"back of the head. head of bed":        "back of the head 2, head of bed 2",
		"rash on face & neck":                  "rash on face & neck 3",
		"upper & lower legs hurt, cough":       "upper & lower legs hurt 4, cough 1",
		"knee, hip and neck jerking":           "knee, hip and neck jerking 4",
		"kicked knee & neck hurt":              "kicked knee 2, neck hurt 2",
		"cut w/ knife by dog":                  "cut w/ knife by dog 3",
		"pain to arm, no pain to leg":          "pain to arm 3, no pain to leg 3",
		"knee pain no leg pain":                "knee pain 3, no leg pain 3",
		"referred to er; walked in er":         "referred 1, er 1, walked 1, er 1",
		"primary md said jumped; taken to er":  "primary md 2, jumped 1, taken to er 2, other 1",
		"red hot dry itchy sore tight neck":    "red 1, hot dry itchy sore tight neck 6",
		"hit in head by another wrestlers hip": "hit in head by another wrestlers hip 3",
		"cut lt. knee; bump in genital area":   "cut lt. knee 3, bump in genital area 3",
		"site of inject became red":            "site of inject became red 4",
		"rash 2 x 4 cm on the left arm":        "rash 2 x 4 cm on the left arm 4",
		"joint pain (severe) below elbow":      "joint pain (severe) below elbow 4",
		"possible palsy on right side of face": "palsy on right side of face (possible) 3",
		"site (right thigh) had a knot":        "site (right thigh) had a knot 4",
		"vax in left arm; cough":               "vax in left arm 3, cough 1",
		"injured 3rd, 4th, & 5th fingers":      "injured 3rd, 4th, & 5th fingers 2",
		"helping move some boxes; mod":         "move some boxes 2, other 2",
		"fell out of bed hit head on stand":    "fell out of bed 3, hit head on stand 2",
		"fell from bed landing on floor dizzy": "fell from bed 2, landing on floor 2, dizzy 1",
		"fell onto a rough wall; red wall":     "fell onto a rough wall 3, red wall 2",
		"sledding when his foot got caught":    "sledding 1, foot got caught 3",
		"sledding, then his foot got caught":   "sledding 1, foot got caught 3",
		"sore all over but mostly arms & hips": "sore all over but mostly arms & hips 5",
		"rash starting on face going down":     "rash starting on face going down 5",
		"typhoid vax given left arm; vax":      "typhoid vax given left arm 5, vax 1",
		"given dtp pt turned very pale":        "given dtp 2, pale 1, other 1",
		"face got red-went to er":              "face got red 3, went to er 2",
		"knee pain was riding a bike":          "knee pain 2, riding a bike 2",
		"\"high pitched\" cry; 30 mins comes":  "high pitched\" cry 3, 30 mins 1, other 1",
	} {
		checkParts(t, text, want)
	}
}

// checkParts compares the parts of a note whose words add 1 each.
func checkParts(t *testing.T, text, want string) {
	t.Helper()
	s := settings(func(s *textproc.Settings) { s.MinDF = 1 })
	v, _, err := textproc.Fit(notes(text), s)
	if err != nil {
		t.Fatal(err)
	}
	reader := v.Transformer()
	contributions := make([]float64, len(reader.Row(text).Columns))
	for c, j := range reader.Row(text).Columns {
		for _, token := range reader.Tokens(text) {
			if slices.Contains(token.Terms[:1], strings.TrimPrefix(v.Vocabulary()[j].Text, "not:")) {
				contributions[c]++
			}
		}
	}
	reader.Row(text)
	parts, other := reader.Parts(nil, contributions)
	var got []string
	for _, p := range parts {
		got = append(got, fmt.Sprintf("%s %v", textproc.Spoken(text[p.Start:p.End], p.Status.String()),
			p.Contribution))
	}
	if other != 0 {
		got = append(got, fmt.Sprintf("other %v", other))
	}
	if d := cmp.Diff(want, strings.Join(got, ", ")); d != "" {
		t.Errorf("%q: %s", text, d)
	}
}

// A pair gives the half of a word that is no finding to the finding.
func TestPairsOfStyleCountForFindings(t *testing.T) {
	t.Parallel()
	const text = "developed fever, attempted walking"
	v, _, err := textproc.Fit(notes(text), settings(func(s *textproc.Settings) { s.MinDF, s.NGrams = 1, 2 }))
	if err != nil {
		t.Fatal(err)
	}
	reader := v.Transformer()
	row := reader.Row(text)
	contributions := make([]float64, len(row.Columns))
	style := v.Style()
	for c, j := range row.Columns {
		if term := v.Vocabulary()[j].Text; strings.Contains(term, " ") {
			contributions[c] = 1
		} else if isWord := term == "develop" || term == "attempt"; style[j] != isWord {
			t.Errorf("%q is style: %v", term, style[j])
		}
	}
	parts, other := reader.Parts(nil, contributions)
	if len(parts) != 2 || other != 0 {
		t.Errorf("pairs are %+v, other %v", parts, other)
	}
}

// A saved vocabulary may lack surfaces.
func TestStyleOfTermsWithoutSurfaces(t *testing.T) {
	t.Parallel()
	v, err := textproc.New(textproc.DefaultSettings(), []textproc.Term{{Text: "develop"}, {Text: "hip"}}, []float64{1, 1})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]bool{true, false}, v.Style()); d != "" {
		t.Error(d)
	}
}

// A word that may be a name joins nothing, so that what stands beside it has its text: Okafor, but not kne.
func TestNamesJoinNothing(t *testing.T) {
	t.Parallel()
	v, err := textproc.New(textproc.DefaultSettings(), []textproc.Term{{Text: "pain"}}, []float64{1})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"Okafor pain": "pain", "kne pain": "kne pain", "KNE PAIN": "KNE PAIN", "Floding pain": "Floding pain",
	} {
		reader := v.Transformer()
		reader.Row(text)
		parts, _ := reader.Parts(nil, []float64{1})
		if len(parts) != 1 || text[parts[0].Start:parts[0].End] != want || parts[0].Printable != (want == "pain") {
			t.Errorf("%q has the parts %+v", text, parts)
		}
	}
}

// A denied word is no part if it is no concept and not in the vocabulary: it may be a name.
func TestDeniedNamesAreNoParts(t *testing.T) {
	t.Parallel()
	v, err := textproc.New(textproc.DefaultSettings(), []textproc.Term{{Text: "hip"}, {Text: "wobbl"}}, []float64{1, 1})
	if err != nil {
		t.Fatal(err)
	}
	reader := v.Transformer()
	const text = "denies okafor, fever, wobbling"
	parts, _ := reader.Parts(nil, make([]float64, len(reader.Row(text).Columns)))
	var got []string
	for _, p := range parts {
		got = append(got, text[p.Start:p.End])
	}
	if d := cmp.Diff([]string{"fever", "wobbling"}, got); d != "" {
		t.Error(d)
	}
}
