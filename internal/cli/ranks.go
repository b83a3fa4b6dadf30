package cli

import (
	"fmt"
	"strconv"
	"strings"
)

// Auto is the value of a flag that leaves the choice to the command.
const Auto = "auto"

// ParseRanks reads "auto", "5", "2:20" and "3,5,8".
func ParseRanks(s string) ([]int, error) {
	if s == Auto {
		return nil, nil
	}
	var all []int
	for part := range strings.SplitSeq(s, ",") {
		first, last, isRange := strings.Cut(part, ":")
		if !isRange {
			last = first
		}
		low, errLow := strconv.Atoi(strings.TrimSpace(first))
		high, errHigh := strconv.Atoi(strings.TrimSpace(last))
		if errLow != nil || errHigh != nil || low < 1 || high < low || high > maxFactors {
			return nil, fmt.Errorf("%q is neither auto nor numbers of factors from 1 to %d, as in 5, 2:20 or 3,5,8", s, maxFactors)
		}
		for k := low; k <= high; k++ {
			all = append(all, k)
		}
	}
	return all, nil
}

// maxFactors bounds what a range may list.
const maxFactors = 10_000
