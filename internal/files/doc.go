// Package files writes files and folders that are there whole or not at all, by one writer at a time.
//
// It stands in internal because the store of models, the topic index and the output folders of questionnaires share it,
// and it knows nothing of what they hold.
package files
