// Package methods knows every factorization by its name on the command line, so that a new one is named in one place.
package methods
