// Package app is the process that `wardcast serve` runs. It joins the parts: a consumer for each configured stream
// (triage notes, responses to questionnaires), the models that score, their reload, and the endpoints for metrics and
// health. To embed it, call New, then Run until the context ends.
//
// Each stream has the metrics of package ingest and these, with a label stream (triage or questionnaires):
//
//	wardcast_model_info{model,version,sha256}       1 for each model in use; a questionnaire's model is named by its
//	                                                instrument
//	wardcast_model_created_timestamp_seconds{model} when it was trained
//	wardcast_model_reloads_total{result}            attempts to load new models
//	wardcast_model_reload_timestamp_seconds         last success
//	wardcast_model_refused                          1 while the newest models are damaged, so that those in use stay,
//	                                                or their own files are
//
// Metrics of predictions, and of scores by instrument:
//
//	wardcast_predictions_total{decision}            predictions made, by decision
//	wardcast_abstentions_total                      predictions of notes in which no word is known
//	wardcast_probability                            histogram of the predicted probabilities of admission
//	wardcast_unknown_token_ratio                    histogram of the share of a note's tokens that its model does not
//	                                                know
//	wardcast_questionnaire_scored_total{instrument}          responses scored
//	wardcast_questionnaire_beyond_training_total{instrument} those with a confound outside the range of training
//	wardcast_questionnaire_missing_ratio{instrument}         histogram of the share of a model's items without an
//	                                                         answer
package app
