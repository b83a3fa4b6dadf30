// Package files writes files and folders atomically, one writer at a time.
//
// It stands in internal because the store of models, the topic index and the output folders of questionnaires share it,
// and it does not depend on their contents.
package files
