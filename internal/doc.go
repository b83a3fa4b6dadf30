// Package internal has no code. Its rooms are what none of the rooms beside it can hold (cmd, ingest, textproc, solver,
// classifier, models, deploy): small things that several of them stand on, such as table and folds, and what is built
// on them, such as service and questionnaire. The doc.go of each room says why it stands here.
//
// What holds between all rooms of the module is tested here: what must never be linked, and that no two rooms import
// each other.
package internal
