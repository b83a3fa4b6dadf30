// Package meter makes the metrics of a part of the program from their names and what they tell.
//
// It stands in internal because it is none of the product's matters: the stream and what is served beside it count by
// it, and neither belongs to the other.
package meter
