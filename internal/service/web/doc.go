// Package web serves the pages for people: predictions as they are published, a note to try, topics, models with their history,
// questionnaires, and what is late or lost. They are made of templates, one style sheet and one script, all embedded, and ask no other
// host for anything. Charts are SVG without styles of their own. docs/pages.md says what each page answers.
//
// Text of notes is shown only if the Feed keeps it. Rows have addresses that are numbers of this process, never visits.
package web
