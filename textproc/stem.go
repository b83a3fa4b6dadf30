package textproc

import porter "github.com/kljensen/snowball/english"

// Stemmer identifies what stem does.
const Stemmer = "snowball-porter2 kljensen v0.10.0 (pre-2023)" // Porter2 before Snowball's change of October 2023

func stem(word string) string { return porter.Stem(word, true) }
