// Package lab has no code. Its packages demonstrate and measure the product: synth generates data with a known truth,
// sample sends and reads messages, demo runs the whole product in one process, and bench measures its speed.
//
// It stands in internal because none of it takes part in scoring or training: it only uses the product.
package lab
