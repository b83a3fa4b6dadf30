// Package storetest helps tests of stores: Bundle, Add and Serve fill one, Stop stops its writer at each of its steps,
// S3 and GCS start servers for buckets.
package storetest
