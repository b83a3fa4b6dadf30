package textproc

import (
	"slices"
	"strings"
	"testing"
)

// TestEffects shows what each effect does: the terms of a note that has a trigger of it. Every effect has a case.
func TestEffects(t *testing.T) {
	t.Parallel()
	cases := []struct {
		effect     effect
		note, want string
	}{
		{deny, "no fever, cough", "not:fever,not:cough"},
		{deny, "fever: no. cough", "not:fever,cough"},
		{denies, "denies fever, cough, rash", "not:fever,not:cough,not:rash"},
		{not, "not vomiting, cough", "not:vomiting,cough"},
		{absent, "fever is absent", "not:fever"},
		{free, "chest pain free, cough", "not:chest_pain,not:chest,not:pain,cough"},
		{negative, "flu negative, cough", "not:influenza,cough"},
		{negative, "negative fever, cough", "not:fever,not:cough"},
		{negative, "fever negative", "not:fever"},
		{denied, "fever denied", "not:fever"},
		{denied, "si, hi denied", "not:suicidal_ideation,not:homicidal_ideation"},
		{denied, "none fever", "not:fever"},
		{maybe, "possible pneumonia, cough", "maybe:pneumonia,cough"},
		{maybe, "felt like she was going to faint", "maybe:syncope"},
		{unsure, "pneumonia?", "maybe:pneumonia"},
		{precaution, "seizure precautions, cough", "maybe:seizure,cough"},
		{either, "stroke vs seizure, cough", "maybe:stroke,maybe:seizure,cough"},
		{either, "skateboard vs mva", "skateboard,motor_vehicle_crash"},
		{historical, "hx of copd, cough", "past:copd,cough"},
		{historical, "hx of seizure", "past:seizure"},
		{historical, "2 days h/o cough", "dur:1-3d,cough"},
		{after, "s/p fall with rash", "fall,rash"},
		{after, "s/p appendectomy", "past:appendectomi"},
		{over, "rash resolved, cough", "past:rash,cough"},
		{over, "resolved rash", "past:rash"},
		{otherPerson, "family hx of stroke, cough", "other:stroke,cough"},
		{exposed, "covid exposure, cough", "other:covid,exposure,cough"},
		{present, "no fever, flu positive, cough", "not:fever,influenza,cough"},
		{kin, "mother has flu, cough", "mother,other:influenza,cough"},
		{has, "no rash has cough", "not:rash,cough"},
		{tells, "mother with flu noticed cough", "mother,other:influenza,notic,cough"},
		{self, "mother with flu pt cough", "mother,other:influenza,cough"},
		{until, "no fever until today", "fever,until,today"},
		{acts, "no fracture, fell", "not:fracture,fall"},
		{ends, "no fever although cough", "not:fever,cough"},
		{stops, "no fever today cough", "not:fever,today,cough"},
		{maybe, "pneumonia suspected, cough", "maybe:pneumonia,cough"},
		{reason, "no meds for pain", "not:medication,pain"},
		{change, "no change in vision", "unchanged,not:vision"},
		{change, "no change in cough", "unchanged,cough"},
		{ceased, "off insulin, cough", "past:insulin,cough"},
		{ceased, "insulin on hold, cough", "past:insulin,cough"},
		{allergy, "allergies: penicillin (rash). cough", "past:allergi,past:penicillin,past:rash,cough"},
		{asides, "no insurance, cough", "not:insur,cough"},
		{asides, "no fever, cough", "not:fever,not:cough"},
		{seeks, "seek care if vomiting, cough", "seek,care,maybe:vomiting,maybe:cough"},
		{seeks, "pain if vomiting, cough", "pain,maybe:vomiting,cough"},
	}
	tested := make(map[effect]bool)
	reader := newReader(t)
	for _, c := range cases {
		tested[c.effect] = true
		t.Run(effectRules[c.effect].name+"/"+c.note, func(t *testing.T) {
			if got := strings.Join(termsOf(reader.Tokens(c.note)), ","); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			does := func(e event) bool { return e.effect == c.effect }
			if effectRules[c.effect].class == 0 && !slices.ContainsFunc(reader.events, does) {
				t.Error("the note has no such trigger")
			}
		})
	}
	for e := deny; int(e) < len(effectRules); e++ {
		if !tested[e] {
			t.Errorf("effect %q has no case", effectRules[e].name)
		}
	}
}
