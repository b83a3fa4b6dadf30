// Package cli holds what the programs of cmd share: running a command line, printing data, progress bars, completion in
// shells, and flags that several commands have.
//
// It stands in internal because both programs need it, wardcast and papers, which is a module of its own: cmd holds one
// struct for each command, and nothing of what a command line is made of.
package cli
