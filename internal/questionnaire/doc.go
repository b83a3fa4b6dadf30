// Package questionnaire is what `wardcast questionnaire` does: it reads answers, factorizes them by ICQF, scores new
// participants, chooses the number of factors, and reports.
package questionnaire
