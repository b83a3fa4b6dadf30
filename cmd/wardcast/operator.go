package main

import (
	"os"
	"os/user"
	"strconv"
	"strings"
)

// operator returns who runs the program, for the history of a store.
func operator() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "uid " + strconv.Itoa(os.Getuid())
}

// commandLine returns how the program was called, for the history of a store.
func commandLine(args []string) string {
	words := []string{"wardcast"}
	for _, arg := range args {
		if arg == "" || strings.ContainsAny(arg, " \t\n'\"$`\\*?;&|<>()") {
			arg = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
		words = append(words, arg)
	}
	return strings.Join(words, " ")
}
