// Package bench measures the product's own speed beside a reference in the same run, so that the ratio carries
// to other machines: the stream beside a bare kafka-go loop that writes messages of the same mean size, uncompressed, the scorer beside
// encoding/json reading and writing the same messages.
package bench
