package textproc

import (
	"errors"
	"slices"
	"strings"
)

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
	title      // of a person
	naming     // a word after it that no table has may be a name
	streets    // closes the name of a street
	numbered   // what has a number: "no" after it is one
	recently   // about today and yesterday
	function   // of the body: its change is a finding
	looking    // looks for what follows "for"
	seeking    // asks for care: an "if" after it begins a list; concepts/status.tsv lists them
	beginning  // what has lasted since the time after it is not of the past
	person     // a number of years after it is an age
	state      // of a patient, as an adjective that no ending shows
	leading    // begins a form that no table of surfaces can hold
)

// The roles and units of concepts/words.tsv, in the order of the constants. The words of acting, aside and seeking
// stand in concepts/status.tsv.
const (
	classNames = "filler separator acting aside falling expecting labouring dating breathed airing repeating taking " +
		"needled practice shortened month moving tubed lastingCue role title naming streets numbered recently " +
		"function looking seeking beginning person state leading"
	unitNames = "seconds minutes hours days weeks months years repeats amount pills litres feet metres storeys " +
		"milesAnHour kilometresAnHour nothing"
)

var classes, units = readWords()

func readWords() (map[string]class, map[string]unit) {
	roles, measured := make(map[string]class), make(map[string]unit)
	classNames, unitNames := strings.Fields(classNames), strings.Fields(unitNames)
	builtinLines("words.tsv", 2, func(fields []string) error {
		name, isUnit := strings.CutPrefix(fields[0], "unit:")
		names := classNames
		if isUnit {
			names = unitNames
		}
		i := slices.Index(names, name)
		if i < 0 {
			return errors.New("no role or unit is called " + name)
		}
		for w := range strings.FieldsSeq(fields[1]) {
			if isUnit {
				measured[w] = seconds + unit(i)
			} else {
				roles[w] |= 1 << i
			}
		}
		return nil
	})
	for w := range sexes {
		roles[w] |= leading
	}
	for w := range numerals {
		roles[w] |= leading
	}
	return roles, measured
}

// wordAt returns the word at lexeme i, nil if there is none.
func (t *Transformer) wordAt(i int) *word {
	if i < 0 || i >= len(t.lex) {
		return nil
	}
	return t.lex[i].word
}

func (t *Transformer) isClass(i int, c class) bool {
	w := t.wordAt(i)
	return w != nil && w.class&c != 0
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

// hoursOf converts units of time to hours.
var hoursOf = [...]float64{
	seconds: 1. / 3600, minutes: 1. / 60, hours: 1, days: 24, weeks: 7 * 24, months: 30 * 24, years: 365 * 24,
}

// yearsOf converts x units of time to years, of twelve months each.
func yearsOf(x float64, u unit) float64 {
	if u == months {
		return x / 12
	}
	return x * hoursOf[u] / hoursOf[years]
}

// feetOf converts units of height to feet.
var feetOf = [...]float64{feet: 1, metres: 3.28, storeys: 10}

func (u unit) isTime() bool { return u >= seconds && u <= years }

// unitAt returns the unit that the word at i gives a number.
func (t *Transformer) unitAt(i int) unit {
	if w := t.wordAt(i); w != nil {
		return w.unit
	}
	return noUnit
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
