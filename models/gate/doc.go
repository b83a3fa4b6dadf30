// Package gate decides whether a newly trained model, the challenger, replaces the one that is served, the champion. It
// only computes: it reads and writes nothing.
//
// Both models predict the same notes. The challenger has learned from none of them, nor has the champion unless
// Notes.Seen says so. The rule looks at proper scores alone, never at accuracy or F1, which reward predictions that are
// not probabilities (Van Calster et al. 2025, Lancet Digit. Health). Notes of one patient count as one observation in
// every interval.
//
//  1. A challenger that knows nothing is refused, also without a champion: its log loss is not below that of predicting
//     the share of admissions among these very notes, by at least 1.645 standard errors. So is one that learned from
//     fewer notes of an outcome than Notes.Learned demands.
//  2. Without a champion, one that knows something is promoted.
//  3. A champion whose intercept and slope, fitted across folds of the later notes, lower its log loss by at least
//     Settings.RecalibrationGain standard errors is recalibrated, unless the challenger passes 4 and is better even so,
//     or the champion may have learned from the notes or cannot be recalibrated.
//  4. A challenger is promoted if its log loss is not higher than the champion's by more than Settings.Margin standard
//     errors of the paired difference, no subgroup is clearly worse off, and it is calibrated, or else clearly better
//     than the champion.
//
// The rule stands in decide.go, and for readers in docs/safety.md. docs/results.md has a simulation of how often it is
// wrong.
package gate
