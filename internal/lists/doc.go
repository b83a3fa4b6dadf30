// Package lists makes lists from others.
//
// It stands in internal because every floor uses it and it belongs to none of them.
package lists
