// Package wording writes numbers for people, the same way on pages, in reports and in messages.
//
// It stands in internal because it is none of the product's matters: pages of the service, reports of models and those
// of questionnaires share it, and none of these may import another.
package wording
