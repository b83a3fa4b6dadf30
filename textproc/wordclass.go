package textproc

import "strings"

// class is a role that a word can have in forms of numbers and surfaces. A word may have several.
type class uint32

const (
	filler    class = 1 << iota // may stand between two words of a surface
	separator                   // may stand between "pulse" and its number
	acting                      // a verb for an event; concepts/status.tsv lists them
	aside                       // no finding, though it is denied; concepts/status.tsv lists them
	falling                     // of a fall from a height
	expecting                   // about a pregnancy: weeks next to it are its age
	labouring                   // about a birth: twenty weeks or more next to it are the age of the pregnancy
	dating                      // 3/10 after it is a date
	breathed                    // about oxygen: litres next to it are a flow
	airing                      // a percentage before it is a saturation
	repeating                   // a number after it is a rate: every 4 hours
	taking                      // a number after it counts pills
	needled                     // about a needle: a number before it is its gauge
	practice                    // follows a doctor without a name: the dr office
	shortened                   // a full stop after it does not end a sentence
	month
	moving     // a number of metres after it is a distance
	tubed      // a tube: a number before F is its gauge
	lastingCue // a fraction next to it is a duration: 6/12 hx
	role       // of staff: a word after it that no table has is a name
	naming     // a word after it that no table has may be a name
	streets    // closes the name of a street
	numbered   // what has a number: "no" after it is one
	recently   // about today and yesterday
	function   // of the body: its change is a finding
	looking    // looks for what follows "for"
	beginning  // what has lasted since the time after it is not of the past
	person     // a number of years after it is an age
	leading    // begins a form that no table of surfaces can hold
)

// roles are those of people whose names notes give.
const roles = "nurse mw midwife attender np rn lpn rpn officer deputy sgt sergeant constable cst const detective " +
	"paramedic kin nok"

var classes = func() map[string]class {
	table := make(map[string]class)
	for c, words := range map[class]string{
		filler: "of in to the on at a an his her my their",
		separator: "of is was reads reading read score at to up now in the rate been level currently around about " +
			"approx dropped dropping drops fell falling decreased improved increased rose risen recorded measured " +
			"low high upper mid down times are were running over above under below greater more less than",
		falling:   "fell fall fallen falling jumped jump off ladder from height roof dropped drop thrown",
		expecting: "preg pregnant pregnancy gestation gest gestational iup gravid ega ga gestationally",
		labouring: "labor labour contractions contracting ctx lof srom fetal movement movements fm twins twin edd " +
			"vag vaginal",
		dating:   "on since lmp until til from by",
		breathed: "nc nrb oxygen nasal mask via hfnc non nonrebreather cannula by n bipap cpap vent",
		airing:   "ra room on ora oa air",
		needled: "iv piv angio angiocath catheter cath needle butterfly saline place placed inserted patent access " +
			"ac rac lac fa forearm hand wrist antecubital ej",
		practice: "notified aware called triage states stated reports assessed evaluated saw says told requests " +
			"concerned " +
			"attending present bedside at on in to from line specialist practitioner home station assessment review " +
			"office ofc offices appt appointment visit order orders note clinic referral advised advises " +
			"recommended recommends recommendation instructions refused informed updated contacted",
		repeating: "q every each per",
		recently: "now currently today tonight morning afternoon evening night yesterday noon lunch breakfast " +
			"dinner ongoing onwards " +
			"monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun " +
			"overnight",
		function: "vision sight hearing weight bowel bowels bladder habit habits appetite sensation gait voice " +
			"speech mood " +
			"sleep urination urine stool stools skin strength balance memory taste smell diet energy",
		looking: "test tests testing tested swab swabs screen screens screening screened pcr assay antigen smear culture " +
			"cultures doppler imaging scan workup eval evaluated evaluation serology biopsy ct mri ray xray us " +
			"ultrasound ekg ecg dip dipstick ua urinalysis",
		beginning: "since started starting starts start began begun beginning onset as than like unlike lmp",
		moving: "walk walked walks walking ran run running mobilised mobilises mobilising mobilizes et distance " +
			"tolerance " +
			"swam crawled from",
		tubed:      "foley catheter cath ng ngt ogt nasogastric tube idc spc ett drain drains peg",
		lastingCue: "ago hx h history of old duration post for x past last over about approx wk since",
		numbered: "room rm bed bay ph phone tel telephone mobile cell nhs mrn ur urn hospital account acct chart " +
			"case file " +
			"ref flat house apt unit box ward id ic aadhaar medicare policy",
		shortened: "abd abdo resp vag diff gen lt rt l r bilat ant approx vs dr temp poss hx inj dec inc",
		month: "jan feb mar apr may jun jul aug sep sept oct nov dec january february march april june july august " +
			"september " +
			"october november december",
		leading: "x c t l s g n v d y age aged twice mr mrs ms miss dr prof name pt patient " + roles,
		role:    roles,
		person:  "male female man woman lady gent gentleman boy girl child baby bub infant toddler tamariki",
		naming:  "by per named called contact carer caregiver nok mr mrs ms miss dr prof " + roles,
		streets: "street st road rd avenue ave lane ln drive dr crescent cres court close place terrace way blvd " +
			"boulevard " +
			"highway hwy nagar colony marg parade grove square gardens",
		taking: "took takes ingested swallowed",
	} {
		for w := range strings.FieldsSeq(words) {
			table[w] |= c
		}
	}
	for w := range sexes {
		table[w] |= leading
	}
	for w := range numerals {
		table[w] |= leading
	}
	return table
}()

func (t *Transformer) isClass(i int, c class) bool {
	return i >= 0 && i < len(t.lex) && t.lex[i].word != nil && t.lex[i].word.class&c != 0
}

// among reports whether a word of class c stands in lexemes [from,to).
func (t *Transformer) among(from, to int, c class) bool {
	for i := max(0, from); i < min(len(t.lex), to); i++ {
		if t.isClass(i, c) {
			return true
		}
	}
	return false
}

// unit is the unit of a number.
type unit uint8

const (
	noUnit unit = iota
	seconds
	minutes
	hours
	days
	weeks
	months
	years
	repeats
	amount // of a drug
	pills  // or puffs of a drug
	litres
	feet
	metres
	storeys
	milesAnHour
	kilometresAnHour
	nothing // sizes, times of day, ordinals: no term
)

var units = func() map[string]unit {
	table := make(map[string]unit)
	for u, words := range map[unit]string{
		seconds: "sec secs second seconds",
		minutes: "min mins minute minutes",
		hours:   "h hr hrs hour hours",
		days:    "d day days",
		weeks:   "w wk wks week weeks",
		months:  "mo mos month months mth mths",
		years:   "y yr yrs year years",
		repeats: "times episode episodes bouts",
		amount:  "mg mgs mcg ug g gm gms gram grams ml mls cc u unit units meq iu amp amps",
		pills: "pill pills tab tabs tablet tablets cap caps capsule capsules puff puffs drop drops dose doses spray " +
			"sprays",
		litres:           "l liter liters litre litres lpm lnc",
		feet:             "ft foot feet",
		metres:           "meter meters metre metres",
		storeys:          "story stories storey storeys floors",
		milesAnHour:      "mph",
		kilometresAnHour: "kmh kph",
		nothing:          "cm mm in inch inches lb lbs kg km am pm st nd rd th s a p bpm f c mmhg ga fr gauge",
	} {
		for w := range strings.FieldsSeq(words) {
			table[w] = u
		}
	}
	return table
}()

// hoursOf converts units of time to hours.
var hoursOf = [...]float64{
	seconds: 1. / 3600, minutes: 1. / 60, hours: 1, days: 24, weeks: 7 * 24, months: 30 * 24, years: 365 * 24,
}

// feetOf converts units of height to feet.
var feetOf = [...]float64{feet: 1, metres: 3.28, storeys: 10}

func (u unit) isTime() bool { return u >= seconds && u <= years }

// unitAt returns the unit that the word at i gives a number.
func (t *Transformer) unitAt(i int) unit {
	if i < 0 || i >= len(t.lex) || t.lex[i].word == nil {
		return noUnit
	}
	return t.lex[i].word.unit
}

// sexes are the words for a sex next to an age.
var sexes = map[string]byte{
	"m": 'm', "male": 'm', "man": 'm', "boy": 'm', "gentleman": 'm', "gent": 'm', "f": 'f', "female": 'f', "woman": 'f',
	"girl": 'f', "lady": 'f', "fem": 'f',
}

// numerals are numbers written as words, before a unit.
var numerals = map[string]float64{
	"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
	"ten": 10, "twelve": 12, "couple": 2, "few": 3, "several": 4, "half": .5,
}

// agedWord is the unit of an age in one word, with the sex or without: "yom" is a year-old male.
type agedWord struct {
	years float64 // of its unit
	sex   byte    // 'm', 'f', or 0
}

// agedWords are all of them. Letters between the unit and the sex denote an assumed race; they are ignored.
var agedWords = func() map[string]agedWord {
	const year, month, week, day = 1., 1. / 12, 7 / 365.25, 1 / 365.25
	table := map[string]agedWord{"yo": {year, 0}, "wo": {week, 0}, "do": {day, 0}, "mf": {month, 'f'}}
	for prefix, years := range map[string]float64{
		"yo": year, "yr": year, "y": year, "mo": month, "wo": week, "do": day,
	} {
		for _, race := range []string{"", "w", "b", "h", "a", "aa", "l", "c"} {
			if prefix == "yo" || race == "" {
				table[prefix+race+"m"] = agedWord{years, 'm'}
				table[prefix+race+"f"] = agedWord{years, 'f'}
			}
		}
	}
	return table
}()
