// Package report tells what a model is worth, to those who answer for its use: a card in Markdown, a page in HTML and
// the same figures as JSON.
//
// Build makes a Report from plain data: the manifest, the counts of the notes, the predictions of notes that the model
// was not trained on, the verdict of the gate, and what the site says of itself. The report follows the items of
// TRIPOD+AI (Collins et al. 2024, BMJ 385), the measures that Van Calster et al. (2025, Lancet Digit. Health) call
// essential, and the sections of CHAI's applied model card. Every figure has a 95 % interval that counts the notes of a
// patient as one. Subgroups of fewer than 20 admissions, or other notes, are named without figures.
//
// Nothing in a report is a note's text or a patient's identifier. The HTML page asks for nothing else and runs nothing.
package report
