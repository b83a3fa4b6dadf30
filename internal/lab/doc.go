// Package lab has no code: its rooms show and measure the product. synth makes data with a known truth, sample streams
// and reads messages, demo runs the whole product in one process, and bench times it.
//
// It stands in internal because none of it takes part in scoring or training: it is a user of the product that happens
// to live in its house.
package lab
