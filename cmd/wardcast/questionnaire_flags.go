package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/wardcast/wardcast/internal/cli"
)

// The tag usedBy of a flag lists the methods that use it, and crossValidation if that does. Everything uses flags
// without it.
const (
	usedBy          = "usedby"
	crossValidation = "cross-validation"
)

// checkUsed returns an error for a flag on the command line that none of the methods uses, nor any of the others that
// run, such as a cross-validation.
func checkUsed(command *kong.Context, methods []string, others ...string) error {
	run := slices.Concat(methods, others)
	for _, p := range command.Path {
		if p.Flag == nil || !p.Flag.Tag.Has(usedBy) {
			continue
		}
		by, name := strings.Split(p.Flag.Tag.Get(usedBy), ","), "--"+p.Flag.Name
		if p.Flag.Negated {
			name = "--no-" + p.Flag.Name
		}
		switch {
		case slices.ContainsFunc(by, func(user string) bool { return slices.Contains(run, user) }):
		case by[0] == crossValidation:
			return cli.Usage(fmt.Errorf(
				"%s applies only to cross-validation, which needs several candidates, as in --factors 2:8", name))
		default:
			return cli.Usage(fmt.Errorf("%s applies only to %s, not to %s", name, listed(by), listed(methods)))
		}
	}
	return nil
}

// validation returns what uses flags besides a method: a cross-validation if there is one.
func validation(there bool) []string {
	if there {
		return []string{crossValidation}
	}
	return nil
}

// listed returns "a, b and c".
func listed(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}
