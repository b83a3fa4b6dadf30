// Package models keeps trained models: Generation is the versions, each a bundle.Bundle, that belong together, and
// Store is where they live, with the generation that is served and the history of that choice. OpenDir opens the store
// on a directory, New that in another Bucket:
//
//	<store>/<model>/<version>/manifest.json        what the model is, with the SHA-256 of every other file
//	                          vocabulary.json      the terms, in the order of the columns
//	                          tensors.safetensors  all numbers
//	                          evaluation.json      how well it did
//	                          card.md              the model card
//	                          report.html          the report with plots; card.md has the same figures
//	                          report.json          the same for programs
//	<store>/generations/<generation>.json          which version each model has, and who has none
//	<store>/champion                               text: the generation that is served
//	<store>/history.jsonl                          who promoted, refused or rolled back what, when and why
//
// A version appears whole or not at all, a generation after its versions, and neither ever changes. The name of each is
// the time of creation and the first six digits of the SHA-256 of its file, for a version of its manifest, so that the
// name vouches for the file, and the manifest for the other files. A file that does not match is refused with its name.
//
// Only champion and history.jsonl change: the one by compare-and-swap, so that of two writers the second gets an error,
// the other by adding a line. A change is recorded before it takes effect. A crash at any moment therefore leaves a
// store that loads as before or as after the change, and at worst a record of a change that did not take effect, which
// Event.Abandoned marks.
//
// A Store is safe for concurrent use, also by several processes.
package models
