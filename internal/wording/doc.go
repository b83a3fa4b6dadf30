// Package wording formats numbers for people, the same way on pages, in reports and in messages, and reads those that
// people write, the same way in files, flags and messages. It keeps text from commanding terminals and spreadsheets.
//
// It stands in internal because pages of the service, reports of models and reports of questionnaires share it, and
// none of these may import another.
package wording
