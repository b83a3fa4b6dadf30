// Package app joins the parts into the process that `wardcast serve` runs: a consumer for each stream that is
// configured, triage notes and responses to questionnaires, the models it scores with, their reload, and the
// metrics and health endpoints. It can be embedded: New, then Run until the context ends.
//
// Metrics of a stream, with a label stream that is triage or questionnaires, beside those of package ingest, which
// have it too:
//
//	wardcast_model_info{model,version,sha256}       1 for each model in use; that of a questionnaire has its instrument's name
//	wardcast_model_created_timestamp_seconds{model} when it was trained
//	wardcast_model_reloads_total{result}            attempts to take up new models
//	wardcast_model_reload_timestamp_seconds         last success
//
// Metrics of what triage predicts, and of scores by instrument:
//
//	wardcast_predictions_total{decision}            predictions made, by decision
//	wardcast_abstentions_total                      predictions of notes in which no word is known
//	wardcast_probability                            histogram of the predicted probabilities of admission
//	wardcast_unknown_token_ratio                    histogram of the share of a note's tokens that its model does not know
//	wardcast_questionnaire_scored_total{instrument}          responses scored
//	wardcast_questionnaire_beyond_training_total{instrument} of these with a confound outside the range of training
//	wardcast_questionnaire_missing_ratio{instrument}         histogram of the share of a model's items that a response does not answer
package app
