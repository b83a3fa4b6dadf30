// Package bench measures the product's own speed beside a reference in the same run, so that the ratio carries
// to other machines: the stream beside a bare kafka-go loop that copies as many bytes, the scorer beside
// encoding/json reading and writing the same messages.
package bench
