// Package report holds what the papers' experiments share: the session that each runs in, the file of cells that a run
// resumes from, and the report of tables and figures that it ends with.
package report
