// Package storetest is the contract of models.Bucket as tests: Run holds any back end against it, alone and under a
// models.Store, with writers that race and writers that are stopped at any of their steps. Bundle and Serve fill a
// store for other tests.
package storetest
