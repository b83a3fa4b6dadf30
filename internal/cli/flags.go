package cli

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"
)

// Auto is the value of a flag that leaves the choice to the command.
const Auto = "auto"

// lists are the types of flags that hold numbers, or auto, which is an empty list.
var lists = []kong.Option{kong.NamedMapper("ranks", list(parseRanks)), kong.NamedMapper("weights", list(parseWeights))}

func list[T any](parse func(string) ([]T, error)) kong.MapperFunc {
	return func(ctx *kong.DecodeContext, target reflect.Value) error {
		var text string
		if err := ctx.Scan.PopValueInto("string", &text); err != nil || text == Auto {
			return err
		}
		all, err := parse(text)
		target.Set(reflect.ValueOf(all))
		return err
	}
}

// parseWeights reads "0.1" and "0.1,0.5".
func parseWeights(s string) (all []float64, err error) {
	for part := range strings.SplitSeq(s, ",") {
		w, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		if err != nil {
			return nil, fmt.Errorf("%q is neither auto nor a list of numbers", s)
		}
		all = append(all, w)
	}
	return all, nil
}

// parseRanks reads "5", "2:20" and "3,5,8".
func parseRanks(s string) (all []int, err error) {
	for part := range strings.SplitSeq(s, ",") {
		first, last, isRange := strings.Cut(part, ":")
		if !isRange {
			last = first
		}
		low, errLow := strconv.Atoi(strings.TrimSpace(first))
		high, errHigh := strconv.Atoi(strings.TrimSpace(last))
		if errLow != nil || errHigh != nil || low < 1 || high < low || high > maxFactors {
			return nil, fmt.Errorf("%q is neither auto nor numbers of factors from 1 to %d, as in 5, 2:20 or 3,5,8", s,
				maxFactors)
		}
		for k := low; k <= high; k++ {
			all = append(all, k)
		}
	}
	return all, nil
}

// maxFactors bounds what a range may list.
const maxFactors = 10_000
