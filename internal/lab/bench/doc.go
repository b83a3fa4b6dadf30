// Package bench measures the product's speed and that of a reference in the same run, so that their ratio carries over
// to other machines. The reference for the stream is a bare kafka-go loop that writes messages of the same mean size,
// uncompressed. The reference for the scorer is encoding/json, which reads and writes the same messages.
package bench
