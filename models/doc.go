// Package models keeps trained models: Bundle is one version of a model as plain data, Store is where versions,
// champions and their history live, and OpenDir opens the store on a directory:
//
//	<store>/<model>/<version>/manifest.json        what the model is, with the SHA-256 of every other file
//	                          vocabulary.json      the terms, in the order of the columns
//	                          tensors.safetensors  all numbers
//	                          evaluation.json      how well it did
//	                          card.md              the model card
//	<store>/<model>/champion                       text: the version in use
//	<store>/<model>/history.jsonl                  who promoted or retired what, and why
//
// A version is written to a temporary folder next to its place, synced and renamed, and never changes afterwards. Its name
// is the time of creation and the first six digits of the SHA-256 of its manifest, so that the name vouches for the
// manifest, and the manifest for the files. A file that does not match is refused with its name. Names that begin with a
// dot are temporary or locks; readers ignore them, writers clear them away.
//
// Each event adds a line to the history: the file is written anew and replaces the former one.
//
// A Store is safe for concurrent use, also by several processes: writers of one model exclude each other by a lock,
// readers need none.
package models
