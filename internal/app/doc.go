// Package app joins the parts into the process that `wardcast serve` runs: the consumer, the champions it
// scores with, their reload, and the metrics and health endpoints. It can be embedded: New, then Run until the
// context ends.
//
// Metrics beside those of package ingest:
//
//	wardcast_predictions_total{decision}            predictions made, by decision
//	wardcast_abstentions_total                      predictions of notes in which no word is known
//	wardcast_probability                            histogram of the predicted probabilities of admission
//	wardcast_unknown_token_ratio                    histogram of the share of a note's tokens that its model does not know
//	wardcast_model_info{model,version,sha256}       1 for each champion in use
//	wardcast_model_created_timestamp_seconds{model} when it was trained
//	wardcast_model_reloads_total{result}            attempts to take up new champions
//	wardcast_model_reload_timestamp_seconds         last success
package app
