// Package intake says which values of a note count, and which level a spelling means. Training and scoring share it, so
// that a model reads a note as it read those that it learned from.
//
// A number that cannot be, and an arrival that is no time or cannot be, count as missing. A level that a model has as
// it is written is that level. Any other spelling is looked up without regard to case and space, and then in a table
// that maps spellings to levels.
package intake
