// Package goldentest compares what a test got with a file that holds what it got before.
//
// It stands in internal because tests of every floor compare with it.
package goldentest
